use super::*;
use crate::scripted::Scripted;

fn get(url: &str) -> Request {
    let token = Credential::Bearer(Secret::new("secret"));
    Request::get(Url::parse(url).unwrap(), 100).authorised(Some(&token))
}

fn authorised(transport: &Scripted) -> Vec<bool> {
    let asked = transport.asked.lock().unwrap();
    asked.iter().map(|request| request.headers.iter().any(|(name, _)| *name == "authorization")).collect()
}

#[test]
fn a_credential_stays_with_its_origin() {
    for (target, kept) in [
        ("https://a.test/other", true),
        ("/other", true),
        ("https://b.test/other", false),
        ("https://a.test:444/other", false),
        ("https://a.test.evil.test/other", false),
    ] {
        let transport = Scripted::default().with_status("https://a.test/", 307, &[("location", target)], "");
        ask(&transport, &get("https://a.test/")).unwrap();
        assert_eq!(authorised(&transport), [true, kept], "{target}");
    }
    // Once lost it stays lost, also on the way back.
    let transport = Scripted::default()
        .with_status("https://a.test/", 302, &[("location", "https://b.test/")], "")
        .with_status("https://b.test/", 302, &[("location", "https://a.test/end")], "");
    ask(&transport, &get("https://a.test/")).unwrap();
    assert_eq!(authorised(&transport), [true, false, false]);
}

#[test]
fn a_redirect_never_leaves_https_and_never_brings_a_password() {
    for target in ["http://a.test/", "ftp://a.test/", "file:///etc/passwd", "data:,x"] {
        let transport = Scripted::default().with_status("https://a.test/", 302, &[("location", target)], "");
        let fault = ask(&transport, &get("https://a.test/")).unwrap_err();
        assert_eq!(fault.kind, FaultKind::RedirectDowngrade, "{target}");
        assert_eq!(transport.asked.lock().unwrap().len(), 1);
    }
    let target = "https://user:password@b.test/";
    let transport = Scripted::default().with_status("https://a.test/", 302, &[("location", target)], "");
    ask(&transport, &get("https://a.test/")).unwrap();
    assert_eq!(transport.addresses(), ["https://a.test/", "https://b.test/"]);
}

#[test]
fn redirects_end() {
    let mut transport = Scripted::default();
    for turn in 0..10 {
        let target = format!("https://a.test/{}", turn + 1);
        transport =
            transport.with_status(&format!("https://a.test/{turn}"), 307, &[("location", &target)], "");
    }
    assert_eq!(ask(&transport, &get("https://a.test/0")).unwrap_err().kind, FaultKind::RedirectLoop);
    assert_eq!(transport.asked.lock().unwrap().len(), MAX_REDIRECTS + 1);
    assert!(ask(&transport, &get("https://a.test/6")).is_ok(), "five redirects are followed");
}
