//! `WWW-Authenticate`: what a registry asks for before it answers.

/// A challenge to prove who asks.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Challenge {
    /// A user name and a password.
    Basic,
    /// A token from a token server.
    Bearer {
        /// Address of the token server.
        realm: String,
        /// Name of the service; some registries leave it out.
        service: Option<String>,
        /// What the token must allow; some registries leave it out.
        scope: Option<String>,
        /// Why a token that was sent is not enough.
        error: Option<String>,
    },
}

impl Challenge {
    /// Reads the header; `None` if no scheme that we know is in it.
    ///
    /// Names are matched in any case, values may be quoted and hold commas, and every parameter
    /// but the realm may be missing, as nvcr.io shows.
    pub(crate) fn parse(header: &str) -> Option<Self> {
        let header = header.trim();
        let (scheme, rest) = header.split_once(char::is_whitespace).unwrap_or((header, ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let mut parameters = parameters(rest);
        let mut take = |name: &str| {
            let at = parameters.iter().position(|(known, _)| known.eq_ignore_ascii_case(name))?;
            Some(parameters.swap_remove(at).1)
        };
        Some(Self::Bearer {
            realm: take("realm")?,
            service: take("service"),
            scope: take("scope"),
            error: take("error"),
        })
    }
}

/// Reads `name=value, name="quoted, value"`; a parameter that is broken ends the list.
fn parameters(text: &str) -> Vec<(String, String)> {
    let mut list = Vec::new();
    let mut rest = text.trim_start_matches([',', ' ', '\t']);
    while let Some((name, after)) = rest.split_once('=') {
        let (value, remainder) = if let Some(quoted) = after.strip_prefix('"') {
            let mut value = String::new();
            let mut letters = quoted.char_indices();
            let mut end = quoted.len();
            while let Some((at, letter)) = letters.next() {
                match letter {
                    '\\' => value.extend(letters.next().map(|(_, escaped)| escaped)),
                    '"' => {
                        end = at + 1;
                        break;
                    }
                    other => value.push(other),
                }
            }
            (value, quoted.get(end..).unwrap_or(""))
        } else {
            let (value, remainder) = after.split_once(',').unwrap_or((after, ""));
            (value.trim().to_owned(), remainder)
        };
        list.push((name.trim().to_owned(), value));
        rest = remainder.trim_start_matches([',', ' ', '\t']);
    }
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenges_of_real_registries_are_read() {
        let docker = r#"Bearer realm="https://auth.docker.io/token",service="registry.docker.io",scope="repository:lmsysorg/sglang:pull""#;
        assert_eq!(
            Challenge::parse(docker),
            Some(Challenge::Bearer {
                realm: "https://auth.docker.io/token".into(),
                service: Some("registry.docker.io".into()),
                scope: Some("repository:lmsysorg/sglang:pull".into()),
                error: None,
            })
        );
        let nvcr = r#"bearer REALM="https://nvcr.io/proxy_auth""#;
        assert!(matches!(Challenge::parse(nvcr), Some(Challenge::Bearer { service: None, scope: None, .. })));
        assert_eq!(Challenge::parse(r#"Basic realm="recipec-test""#), Some(Challenge::Basic));
    }

    #[test]
    fn quoted_commas_and_escapes_stay_in_their_value() {
        let header = r#"Bearer realm="https://a/t", scope="repository:a/b:pull,push",error="insufficient \"scope\"" , service=x"#;
        let Some(Challenge::Bearer { scope, service, error, .. }) = Challenge::parse(header) else {
            panic!()
        };
        assert_eq!(scope.as_deref(), Some("repository:a/b:pull,push"));
        assert_eq!(service.as_deref(), Some("x"));
        assert_eq!(error.as_deref(), Some("insufficient \"scope\""));
    }

    #[test]
    fn nonsense_is_no_challenge() {
        for header in ["", "Bearer", "Negotiate abc", "Bearer realm", "Bearer service=\"x", "\"\""] {
            assert_eq!(Challenge::parse(header), None, "{header}");
        }
    }
}
