//! Servers that fail, lie and stall: each fault ends in a named refusal of that one want.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use host::{Environment, Limits, Options, Refusal, Resolved};
use lock::Digest;
use lock::pin::Pin;
use recipe::want::Want;

use crate::support::process::{Running, free_port, program, wait_for};
use crate::support::server::{Reply, Request, Server};

const MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
const CONFIG: &str = r#"{"os":"linux","architecture":"amd64"}"#;

/// A single manifest, told apart by a note.
fn manifest(note: &str) -> String {
    format!(
        r#"{{"schemaVersion":2,"mediaType":"{MANIFEST}","config":{{"mediaType":"application/vnd.oci.image.config.v1+json","digest":"{}","size":{}}},"layers":[],"annotations":{{"note":"{note}"}}}}"#,
        Digest::of(CONFIG.as_bytes()),
        CONFIG.len()
    )
}

/// What a registry answers that has one image.
fn registry(request: &Request) -> Reply {
    let text = manifest("one");
    if request.path().contains("/blobs/") {
        return Reply::new(200, CONFIG);
    }
    if request.path().contains("/manifests/") {
        return Reply::new(200, text.clone())
            .with("content-type", MANIFEST)
            .with("docker-content-digest", Digest::of(text.as_bytes()));
    }
    Reply::new(404, "{}")
}

fn limits() -> Limits {
    Limits {
        connect: Duration::from_secs(2),
        silence: Duration::from_millis(400),
        exchange: Duration::from_secs(2),
        tries: 2,
        pause: Duration::from_millis(10),
        patience: Duration::from_secs(2),
        per_host: 8,
    }
}

fn options(pairs: &[(&str, String)]) -> Options {
    let environment: Environment = pairs.iter().cloned().collect();
    Options { environment, limits: limits(), ..Options::default() }
}

fn image(server: &Server) -> Want {
    reference(&format!("{}/a/b:1", server.authority()))
}

fn reference(text: &str) -> Want {
    Want::Image { reference: text.to_owned(), platforms: vec!["linux/amd64".to_owned()] }
}

fn resolve(want: Want, options: &Options) -> Result<Resolved, Refusal> {
    host::resolve(&[want], options).pop().unwrap().outcome
}

#[track_caller]
fn refused(outcome: Result<Resolved, Refusal>, slug: &str, exit: u8) -> Refusal {
    let refusal = outcome.expect_err("it should be refused");
    assert_eq!((refusal.diagnostic.slug.as_str(), refusal.class.exit_code()), (slug, exit), "{refusal:#?}");
    assert!(!refusal.diagnostic.help.is_empty(), "a refusal says what to do: {refusal:#?}");
    refusal
}

/// Asks a server that answers every request in one way.
fn from(handler: impl Fn(&Request) -> Reply + Send + Sync + 'static) -> Result<Resolved, Refusal> {
    resolve(image(&Server::start(handler)), &options(&[]))
}

fn digest(outcome: Result<Resolved, Refusal>) -> Digest {
    let resolved = outcome.unwrap_or_else(|refusal| panic!("{refusal:#?}"));
    let Pin::Image(image) = resolved.pin else { panic!("{:?}", resolved.pin) };
    image.digest
}

#[test]
fn a_server_that_does_not_answer_is_unreachable() {
    let began = Instant::now();
    refused(from(|_| Reply::Hang), "unreachable", 5);
    refused(from(|_| Reply::Close), "unreachable", 5);
    // Slower than the whole exchange may take, though never silent for long.
    refused(from(|_| Reply::Drip(vec![b'H'; 100])), "unreachable", 5);
    let cut = |_: &Request| Reply::Raw(b"HTTP/1.1 200 OK\r\ncontent-length: 1000\r\n\r\nabc".to_vec());
    refused(from(cut), "unreachable", 5);
    let port = free_port();
    refused(resolve(reference(&format!("127.0.0.1:{port}/a/b:1")), &options(&[])), "unreachable", 5);
    let name = refused(resolve(reference("registry.invalid/a/b:1"), &options(&[])), "unreachable", 5);
    assert!(name.diagnostic.message.contains("cannot be found"), "{name:#?}");
    assert!(began.elapsed() < Duration::from_secs(30), "{:?}", began.elapsed());
}

#[test]
fn an_answer_that_is_too_long_is_cut_off() {
    refused(
        from(|_| Reply::new(200, vec![b'x'; 5 << 20]).with("content-type", MANIFEST)),
        "answer-too-large",
        4,
    );
    // Without a length: the bytes themselves are counted.
    let endless = |request: &Request| {
        if request.method == "HEAD" {
            return Reply::new(200, "");
        }
        let mut bytes = b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n".to_vec();
        bytes.resize(6 << 20, b'x');
        Reply::Raw(bytes)
    };
    refused(from(endless), "answer-too-large", 4);
}

#[test]
fn an_answer_of_another_kind_is_not_used() {
    refused(
        from(|_| Reply::new(200, "<html>log in").with("content-type", "text/html")),
        "unexpected-answer",
        4,
    );
    refused(from(|_| Reply::new(200, "{").with("content-type", MANIFEST)), "unexpected-answer", 4);
    refused(from(|_| Reply::new(204, "")), "unexpected-answer", 4);
    refused(from(|_| Reply::Raw(b"SSH-2.0-OpenSSH_9.2\r\n".to_vec())), "unexpected-answer", 4);
    let other = |_: &Request| {
        Reply::new(200, manifest("x")).with("content-type", "application/vnd.oci.image.index.v1+json")
    };
    refused(from(other), "unexpected-answer", 4);
    let hub = Server::start(|_| Reply::new(200, "<html>").with("content-type", "text/html"));
    let want = Want::Checkpoint { repository: "a/b".to_owned(), revision: "main".to_owned() };
    refused(resolve(want, &options(&[("HF_ENDPOINT", hub.url())])), "unexpected-answer", 4);
}

#[test]
fn a_digest_in_a_header_is_a_claim() {
    let lying = |request: &Request| match registry(request) {
        Reply::Answer { status, headers, body } => {
            let body = if request.path().contains("/manifests/") { [&body[..], b" "].concat() } else { body };
            Reply::Answer { status, headers, body }
        }
        other => other,
    };
    refused(from(lying), "digest-mismatch", 4);
    let config = |request: &Request| {
        if request.path().contains("/blobs/") {
            Reply::new(200, r#"{"os":"linux","architecture":"arm64"}"#)
        } else {
            registry(request)
        }
    };
    refused(from(config), "digest-mismatch", 4);
    assert_eq!(digest(from(registry)), Digest::of(manifest("one").as_bytes()));
}

#[test]
fn statuses_are_told_apart() {
    let status = |status: u16| from(move |_| Reply::new(status, "{}"));
    refused(status(401), "access-denied", 4);
    refused(status(403), "access-denied", 4);
    refused(status(404), "repository-not-found", 4);
    refused(status(418), "unexpected-answer", 4);
    for code in [500, 502, 503, 504] {
        refused(status(code), "server-error", 5);
    }
    let limited =
        refused(from(|_| Reply::new(429, "slow down").with("retry-after", "3600")), "rate-limited", 5);
    assert!(limited.diagnostic.notes.iter().any(|note| note.contains("3600")), "{limited:#?}");
    let dated = |_: &Request| Reply::new(429, "").with("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT");
    refused(from(dated), "rate-limited", 5);
}

/// Fails the first requests in the given way, then is a registry.
fn later(
    times: usize,
    fault: impl Fn() -> Reply + Send + Sync + 'static,
) -> impl Fn(&Request) -> Reply + Send + Sync {
    let asked = AtomicUsize::new(0);
    move |request| if asked.fetch_add(1, Ordering::SeqCst) < times { fault() } else { registry(request) }
}

#[test]
fn what_may_succeed_the_next_time_is_tried_again() {
    digest(from(later(1, || Reply::new(503, ""))));
    digest(from(later(1, || Reply::Close)));
    let began = Instant::now();
    digest(from(later(1, || Reply::new(429, "").with("retry-after", "1"))));
    assert!(began.elapsed() >= Duration::from_secs(1), "the wait that was asked for is kept");
    digest(from(later(1, || Reply::new(429, "").with("ratelimit", "\"api\";r=0;t=0"))));
    refused(from(later(2, || Reply::new(503, ""))), "server-error", 5);
}

#[test]
fn redirects_end_and_carry_no_credential_to_another_host() {
    let around = |request: &Request| Reply::new(307, "").with("location", format!("{}x", request.target));
    refused(from(around), "redirect-refused", 4);
    refused(from(|_| Reply::new(302, "").with("location", "file:///etc/passwd")), "redirect-refused", 4);

    // The image config is on another host, as with real registries.
    let other = Server::start(|_| Reply::new(200, CONFIG));
    let target = other.url();
    let asks = move |request: &Request| {
        if request.header("authorization").is_none() {
            return Reply::new(401, "").with("www-authenticate", "Basic realm=\"x\"");
        }
        if request.path().contains("/blobs/") {
            return Reply::new(307, "").with("location", format!("{target}/signed?key=1"));
        }
        registry(request)
    };
    let server = Server::start(asks);
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join(".docker")).unwrap();
    let auth = upstream::secret::base64_encode(b"me:secret");
    let text = format!(r#"{{"auths":{{"{}":{{"auth":"{auth}"}}}}}}"#, server.authority());
    fs::write(home.path().join(".docker/config.json"), text).unwrap();
    digest(resolve(image(&server), &options(&[("HOME", home.path().display().to_string())])));
    assert!(server.log().iter().any(|request| request.header("authorization").is_some()));
    let seen = other.log();
    assert_eq!(seen.len(), 1);
    assert_eq!(seen[0].header("authorization"), None);
}

/// A registry with a token server in front, which counts how often it is asked.
fn with_tokens(challenge: impl Fn(&Request) -> String + Send + Sync + 'static) -> Server {
    Server::start(move |request| {
        if request.path() == "/token" {
            let scope = request.query("scope").unwrap_or_default();
            return Reply::json(format!(
                r#"{{"access_token":"token-for-{}"}}"#,
                scope.replace([':', '/'], "-")
            ));
        }
        match request.header("authorization") {
            Some(value) if value.starts_with("Bearer token-for-repository-a-b-pull") => registry(request),
            _ => Reply::new(401, "{}").with("www-authenticate", challenge(request)),
        }
    })
}

#[test]
fn a_token_is_asked_for_where_the_registry_says_and_once() {
    let host = |request: &Request| request.header("host").unwrap_or_default().to_owned();
    let full = with_tokens(move |request| {
        format!(r#"Bearer realm="http://{}/token",service="s",scope="repository:a/b:pull""#, host(request))
    });
    digest(resolve(image(&full), &options(&[])));
    assert_eq!(full.log().iter().filter(|request| request.path() == "/token").count(), 1);
    // nvcr.io leaves service and scope out.
    let short = with_tokens(move |request| format!(r#"bearer realm="http://{}/token""#, host(request)));
    digest(resolve(image(&short), &options(&[])));
    let asked = short.log().into_iter().find(|request| request.path() == "/token").unwrap();
    assert_eq!(asked.query("scope").as_deref(), Some("repository:a/b:pull"));
    for realm in ["ftp://127.0.0.1/token", "not an address"] {
        let odd = with_tokens(move |_| format!(r#"Bearer realm="{realm}""#));
        refused(resolve(image(&odd), &options(&[])), "redirect-refused", 4);
    }
}

#[test]
fn a_tag_that_moves_between_two_requests_is_looked_at_again() {
    // HEAD sees the old image, GET the new one: the second look agrees with the new one.
    let moved = |times: usize| {
        let asked = Arc::new(AtomicUsize::new(0));
        move |request: &Request| {
            if !request.path().contains("/manifests/") {
                return registry(request);
            }
            let turn = asked.fetch_add(1, Ordering::SeqCst).min(times);
            let text = manifest(&turn.to_string());
            Reply::new(200, text.clone())
                .with("content-type", MANIFEST)
                .with("docker-content-digest", Digest::of(text.as_bytes()))
        }
    };
    assert_eq!(digest(from(moved(1))), Digest::of(manifest("1").as_bytes()));
    refused(from(moved(usize::MAX)), "tag-moving", 4);
}

#[test]
fn one_refusal_leaves_the_other_wants_alone_and_no_order_shows() {
    let server = Server::start(|request| {
        // Answers arrive in any order.
        let delay = request.target.bytes().map(u64::from).sum::<u64>() % 7;
        std::thread::sleep(Duration::from_millis(delay * 3));
        if request.path().contains("/a/broken/") { Reply::new(200, "<html>") } else { registry(request) }
    });
    let names = ["one", "two", "broken", "three", "four", "one"];
    let wants: Vec<Want> =
        names.iter().map(|name| reference(&format!("{}/a/{name}:1", server.authority()))).collect();
    let first = host::resolve(&wants, &options(&[]));
    assert_eq!(first.len(), 5, "a want named twice is one want");
    assert_eq!(first.iter().filter(|resolution| resolution.outcome.is_err()).count(), 1);
    for turn in 1..names.len() {
        let mut shuffled = wants.clone();
        shuffled.rotate_left(turn);
        assert_eq!(host::resolve(&shuffled, &options(&[])), first);
    }
}

#[test]
fn each_want_is_asked_once_and_a_host_is_not_flooded() {
    let server = Server::start(|request| {
        std::thread::sleep(Duration::from_millis(20));
        registry(request)
    });
    let wants: Vec<Want> =
        (0..40).map(|at| reference(&format!("{}/a/b:{}", server.authority(), at % 20))).collect();
    let all = host::resolve(&wants, &options(&[]));
    assert!(all.len() == 20 && all.iter().all(|resolution| resolution.outcome.is_ok()));
    let heads = server.log().iter().filter(|request| request.method == "HEAD").count();
    assert_eq!(heads, 20);
    assert!((2..=limits().per_host).contains(&server.busiest()), "{}", server.busiest());
}

#[test]
fn a_warm_lock_looks_and_does_not_fetch() {
    let server = Server::start(registry);
    let cache = tempfile::tempdir().unwrap();
    let warm = options(&[("RECIPEC_CACHE", cache.path().display().to_string())]);
    let first = digest(resolve(image(&server), &warm));
    let gets = |server: &Server| {
        let log = server.log();
        log.iter().filter(|request| request.method == "GET" && request.path().contains("/manifests/")).count()
    };
    assert_eq!(gets(&server), 1);
    assert_eq!(digest(resolve(image(&server), &warm)), first);
    assert_eq!(gets(&server), 1, "registries count fetches against a limit, and looking not");
    // A cache that was changed on disk is a cache that has nothing.
    for entry in fs::read_dir(cache.path().join("content")).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replace("note", "n0te")).unwrap();
    }
    assert_eq!(digest(resolve(image(&server), &warm)), first);
    assert_eq!(gets(&server), 2);
}

#[test]
fn offline_asks_nobody() {
    let server = Server::start(registry);
    let offline = Options { offline: true, ..options(&[]) };
    refused(resolve(image(&server), &offline), "offline-without-pin", 3);
    assert!(server.log().is_empty());
}

#[test]
fn a_proxy_is_used_and_left_out_where_the_variables_say_so() {
    let proxy = Server::start(|request| {
        assert!(request.target.starts_with("http://registry.test:5000/"), "{}", request.target);
        let path = request.target["http://registry.test:5000".len()..].to_owned();
        registry(&Request { target: path, ..request.clone() })
    });
    let want = || reference("registry.test:5000/a/b:1");
    let set = |more: &[(&str, String)]| {
        let registries = ("RECIPEC_REGISTRIES", "registry.test:5000=http://registry.test:5000".to_owned());
        options(&[&[registries], more].concat())
    };
    digest(resolve(want(), &set(&[("http_proxy", proxy.url())])));
    let asked = proxy.log().len();
    assert!(asked > 0);
    let except = set(&[("http_proxy", proxy.url()), ("NO_PROXY", "registry.test".to_owned())]);
    refused(resolve(want(), &except), "unreachable", 5);
    assert_eq!(proxy.log().len(), asked);
}

/// Makes a certificate for localhost that is valid between two times.
fn certificate(folder: &Path, name: &str, begin: &str, end: &str) -> Option<()> {
    let run = |arguments: &[&str]| {
        let output = Command::new("openssl").current_dir(folder).args(arguments).output().ok()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(())
    };
    let (key, request, signed) = (format!("{name}.key"), format!("{name}.csr"), format!("{name}.crt"));
    let config = "[ca]\ndefault_ca=d\n[d]\nnew_certs_dir=.\ndatabase=index\nrand_serial=yes\ndefault_md=sha256\npolicy=p\nunique_subject=no\nx509_extensions=e\n[p]\ncommonName=supplied\n[e]\nsubjectAltName=DNS:localhost,IP:127.0.0.1\nbasicConstraints=critical,CA:FALSE\nextendedKeyUsage=serverAuth\n[r]\ndistinguished_name=n\n[n]\n[v3]\nbasicConstraints=critical,CA:TRUE\nkeyUsage=critical,keyCertSign\n";
    fs::write(folder.join("ca.cnf"), config).unwrap();
    fs::write(folder.join("index"), "").unwrap();
    let curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    if !folder.join("ca.crt").exists() {
        let head = [
            "req",
            "-x509",
            "-config",
            "ca.cnf",
            "-section",
            "r",
            "-extensions",
            "v3",
            "-subj",
            "/CN=test-authority",
            "-days",
            "30",
        ];
        run(&[&head[..], &curve, &["-keyout", "ca.key", "-out", "ca.crt"]].concat())?;
    }
    let head = ["req", "-config", "ca.cnf", "-section", "r", "-new", "-subj", "/CN=localhost"];
    run(&[&head[..], &curve, &["-keyout", &key, "-out", &request]].concat())?;
    let dates = ["-startdate", begin, "-enddate", end];
    let tail = [
        "-config", "ca.cnf", "-batch", "-notext", "-keyfile", "ca.key", "-cert", "ca.crt", "-in", &request,
        "-out", &signed,
    ];
    run(&[&["ca"][..], &dates, &tail].concat())
}

#[test]
fn an_expired_and_an_unknown_certificate_are_refused() {
    let test = "an_expired_and_an_unknown_certificate_are_refused";
    if program(test, "openssl").is_none() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    certificate(folder.path(), "expired", "200101000000Z", "210101000000Z").unwrap();
    certificate(folder.path(), "valid", "200101000000Z", "490101000000Z").unwrap();
    let authority = folder.path().join("ca.crt").display().to_string();
    let Some(python) = program(test, "python3") else { return };
    let serve = "import http.server, ssl, sys\n\
                 port, name = int(sys.argv[1]), sys.argv[2]\n\
                 context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)\n\
                 context.load_cert_chain(name + '.crt', name + '.key')\n\
                 server = http.server.ThreadingHTTPServer(('127.0.0.1', port), http.server.SimpleHTTPRequestHandler)\n\
                 server.socket = context.wrap_socket(server.socket, server_side=True)\n\
                 server.serve_forever()";
    // A server of files has no repository, but it says so once it is trusted.
    for (name, trusted, slug) in [
        ("expired", true, "tls-refused"),
        ("valid", false, "tls-refused"),
        ("valid", true, "repository-not-found"),
    ] {
        let port = free_port();
        let _running = Running::start(Command::new(&python).current_dir(folder.path()).args([
            "-c",
            serve,
            &port.to_string(),
            name,
        ]));
        wait_for(port);
        let registries = ("RECIPEC_REGISTRIES", format!("registry.test=https://localhost:{port}"));
        let mut pairs = vec![registries];
        if trusted {
            pairs.push(("SSL_CERT_FILE", authority.clone()));
        }
        // This server takes its time, and one connection after the other.
        let patient =
            Limits { silence: Duration::from_secs(5), exchange: Duration::from_secs(10), ..limits() };
        let options = Options { limits: patient, ..options(&pairs) };
        let outcome = resolve(reference("registry.test/a/b:1"), &options);
        let exit = if slug == "tls-refused" { 5 } else { 4 };
        let refusal = refused(outcome, slug, exit);
        let says = match (name, trusted) {
            ("expired", _) => "expired",
            (_, false) => "unknownissuer",
            (_, true) => "itself is unknown",
        };
        assert!(refusal.diagnostic.notes.join(" ").to_lowercase().contains(says), "{refusal:#?}");
    }
}

#[test]
fn no_credential_is_in_any_word_that_is_said() {
    let said = Mutex::new(String::new());
    let handler = |_: &Request| Reply::new(401, "{}").with("www-authenticate", "Basic realm=\"x\"");
    let server = Server::start(handler);
    let home = tempfile::tempdir().unwrap();
    fs::create_dir(home.path().join(".docker")).unwrap();
    let auth = upstream::secret::base64_encode(b"me:pa55w0rd");
    let text = format!(r#"{{"auths":{{"{}":{{"auth":"{auth}"}}}}}}"#, server.authority());
    fs::write(home.path().join(".docker/config.json"), text).unwrap();
    let pairs = [
        ("HOME", home.path().display().to_string()),
        ("HF_ENDPOINT", server.url()),
        ("HF_TOKEN", "hf_pa55w0rd".to_owned()),
        ("GITHUB_API_URL", server.url()),
        ("GITHUB_TOKEN", "ghp_pa55w0rd".to_owned()),
    ];
    let wants = [
        image(&server),
        Want::Checkpoint { repository: "a/b".to_owned(), revision: "main".to_owned() },
        Want::Source {
            purpose: "curve".to_owned(),
            repository: "a/b".to_owned(),
            revision: "main".to_owned(),
            path: "c".to_owned(),
        },
    ];
    let options = options(&pairs);
    for resolution in host::resolve(&wants, &options) {
        said.lock().unwrap().push_str(&format!("{resolution:#?}"));
    }
    said.lock().unwrap().push_str(&format!("{options:#?}"));
    assert!(server.log().iter().filter(|request| request.header("authorization").is_some()).count() >= 3);
    assert!(!said.into_inner().unwrap().contains("pa55w0rd"));
}
