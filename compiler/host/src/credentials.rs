//! Who the user is to each service: docker's and podman's logins, the hub's token, the forge's.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use diag::{Diagnostic, slugs::host as slug};
use serde::Deserialize;
use upstream::secret::{Credential, Secret, base64_decode};
use upstream::transport::Service;

use crate::Environment;

/// How long a credential helper may take.
const HELPER_PATIENCE: Duration = Duration::from_secs(20);
/// The most bytes of a file with logins.
const FILE_LIMIT: u64 = 4 << 20;

/// Looks logins up where the user's other tools keep them. Nothing is asked of the user, and
/// nothing is stored.
#[derive(Debug)]
pub struct Credentials {
    environment: Environment,
    /// Logins of registries that were looked up already.
    known: Mutex<BTreeMap<String, Option<Credential>>>,
    /// What could not be read.
    problems: Mutex<Vec<Diagnostic>>,
}

/// The parts of docker's `config.json` and podman's `auth.json` that hold logins.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Config {
    auths: BTreeMap<String, Auth>,
    #[serde(rename = "credHelpers")]
    helpers: BTreeMap<String, String>,
    #[serde(rename = "credsStore")]
    store: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct Auth {
    auth: Option<String>,
    username: Option<String>,
    password: Option<String>,
    identitytoken: Option<String>,
    registrytoken: Option<String>,
}

/// What a credential helper answers.
#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Helped {
    #[serde(default)]
    username: String,
    #[serde(default)]
    secret: String,
}

impl Credentials {
    /// Returns the logins that these variables lead to.
    #[must_use]
    pub fn new(environment: Environment) -> Self {
        Self { environment, known: Mutex::default(), problems: Mutex::default() }
    }

    /// Returns the login for a service, if there is one.
    #[must_use]
    pub fn get(&self, service: Service<'_>) -> Option<Credential> {
        match service {
            Service::Hub => self.hub().map(Credential::Bearer),
            Service::Forge => {
                let token = self.environment.first(&["GITHUB_TOKEN", "GH_TOKEN"])?;
                word(token).map(Credential::Bearer)
            }
            Service::Registry(registry) => {
                let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
                if let Some(found) = known.get(registry) {
                    return found.clone();
                }
                let found = self.registry(registry);
                known.insert(registry.to_owned(), found.clone());
                found
            }
        }
    }

    /// Returns warnings about logins that are there and cannot be read.
    #[must_use]
    pub fn problems(&self) -> Vec<Diagnostic> {
        let mut problems = self.problems.lock().unwrap_or_else(PoisonError::into_inner).clone();
        problems.sort_by(|a, b| a.message.cmp(&b.message));
        problems.dedup();
        problems
    }

    /// The hub client's own order: the variables, then the file that `hf auth login` writes.
    fn hub(&self) -> Option<Secret> {
        if let Some(token) = self.environment.first(&["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"]) {
            return word(token);
        }
        let path = match self.environment.get("HF_TOKEN_PATH") {
            Some(path) => PathBuf::from(path),
            None => self.hub_home()?.join("token"),
        };
        word(&self.read(&path)?)
    }

    fn hub_home(&self) -> Option<PathBuf> {
        if let Some(home) = self.environment.get("HF_HOME") {
            return Some(PathBuf::from(home));
        }
        let caches = self.environment.get("XDG_CACHE_HOME").map(PathBuf::from);
        Some(caches.or_else(|| Some(self.environment.home()?.join(".cache")))?.join("huggingface"))
    }

    fn registry(&self, registry: &str) -> Option<Credential> {
        self.registry_files().iter().find_map(|path| {
            let text = self.read(path)?;
            match serde_json::from_str::<Config>(&text) {
                Ok(config) => self.login(&config, registry),
                Err(_) => {
                    self.problem(format!("`{}` is no JSON with logins", path.display()), None);
                    None
                }
            }
        })
    }

    /// Docker's file first, then podman's, as the tools that share them look.
    fn registry_files(&self) -> Vec<PathBuf> {
        let docker = match self.environment.get("DOCKER_CONFIG") {
            Some(folder) => Some(PathBuf::from(folder)),
            None => self.environment.home().map(|home| home.join(".docker")),
        };
        let mut files: Vec<PathBuf> = docker.into_iter().map(|folder| folder.join("config.json")).collect();
        files.extend(self.environment.get("REGISTRY_AUTH_FILE").map(PathBuf::from));
        let runtime = self.environment.get("XDG_RUNTIME_DIR").map(PathBuf::from);
        files.extend(runtime.map(|folder| folder.join("containers/auth.json")));
        files
    }

    fn login(&self, config: &Config, registry: &str) -> Option<Credential> {
        for name in spellings(registry) {
            if let Some(helper) = config.helpers.get(&name) {
                return self.help(helper, &name);
            }
        }
        for name in spellings(registry) {
            if let Some(found) = config.auths.get(&name).and_then(credential) {
                return Some(found);
            }
        }
        let store = config.store.as_ref()?;
        spellings(registry).into_iter().find_map(|name| self.help(store, &name))
    }

    /// Asks a credential helper: the server's name goes in, JSON comes out.
    fn help(&self, helper: &str, server: &str) -> Option<Credential> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if helper.is_empty() || !helper.bytes().all(plain) {
            self.problem(
                format!("`{}` is no name of a credential helper", upstream::printable(helper, 60)),
                None,
            );
            return None;
        }
        let program = format!("docker-credential-{helper}");
        match run(&program, server, &self.environment) {
            Ok(None) => None,
            Ok(Some(output)) => match serde_json::from_slice::<Helped>(&output) {
                Ok(answer) if answer.secret.is_empty() => None,
                Ok(answer) if answer.username == "<token>" => {
                    Some(Credential::Identity(answer.secret.into()))
                }
                Ok(answer) => {
                    Some(Credential::Basic { user: answer.username, password: answer.secret.into() })
                }
                Err(_) => {
                    self.problem(format!("`{program}` answers with what is no login"), None);
                    None
                }
            },
            Err(error) => {
                self.problem(format!("`{program}` cannot be asked"), Some(error.to_string()));
                None
            }
        }
    }

    fn read(&self, path: &Path) -> Option<String> {
        match fs_err::metadata(path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
            Ok(found) if found.len() > FILE_LIMIT => {
                self.problem(format!("`{}` is too long to be a file with logins", path.display()), None);
                return None;
            }
            _ => {}
        }
        fs_err::read_to_string(path)
            .map_err(|error| {
                self.problem(format!("`{}` cannot be read", path.display()), Some(error.to_string()));
            })
            .ok()
    }

    fn problem(&self, message: String, why: Option<String>) {
        let mut diagnostic = Diagnostic::warning(slug::CREDENTIALS_UNREADABLE, message)
            .why("servers are asked without that login")
            .help("repair the file, or run `docker login` again");
        diagnostic.notes.extend(why);
        self.problems.lock().unwrap_or_else(PoisonError::into_inner).push(diagnostic);
    }
}

/// The names under which a registry's login may stand. Docker Hub has three.
fn spellings(registry: &str) -> Vec<String> {
    if registry == "docker.io" {
        let names = ["https://index.docker.io/v1/", "docker.io", "index.docker.io", "registry-1.docker.io"];
        return names.map(str::to_owned).to_vec();
    }
    vec![
        registry.to_owned(),
        format!("https://{registry}"),
        format!("https://{registry}/v2/"),
        format!("https://{registry}/v1/"),
    ]
}

fn credential(auth: &Auth) -> Option<Credential> {
    let set = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    if let Some(token) = set(&auth.registrytoken) {
        return Some(Credential::Bearer(token.into()));
    }
    if let Some(token) = set(&auth.identitytoken) {
        return Some(Credential::Identity(token.into()));
    }
    if let Some(encoded) = set(&auth.auth) {
        let pair = String::from_utf8(base64_decode(&encoded)?).ok()?;
        let (user, password) = pair.split_once(':')?;
        return Some(Credential::Basic {
            user: user.to_owned(),
            password: Secret::new(password.trim_end_matches('\0')),
        });
    }
    Some(Credential::Basic { user: set(&auth.username)?, password: set(&auth.password)?.into() })
}

/// A token goes into a header, so it must be one word.
fn word(text: &str) -> Option<Secret> {
    let text = text.trim();
    (!text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic())).then(|| Secret::new(text))
}

/// Runs a helper; `None` where it says that it has no login.
fn run(program: &str, server: &str, environment: &Environment) -> std::io::Result<Option<Vec<u8>>> {
    let mut command = Command::new(program);
    if let Some(path) = environment.get("PATH") {
        command.env("PATH", path);
    }
    let mut child =
        command.arg("get").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A helper that needs no input may be gone already.
        let _ = writeln!(stdin, "{server}");
    }
    let mut stdout = child.stdout.take();
    let reader = std::thread::spawn(move || {
        use std::io::Read as _;
        let mut output = Vec::new();
        if let Some(stdout) = &mut stdout {
            let _ = stdout.take(FILE_LIMIT).read_to_end(&mut output);
        }
        output
    });
    let deadline = Instant::now() + HELPER_PATIENCE;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() > deadline {
            child.kill()?;
            child.wait()?;
            return Err(std::io::Error::new(std::io::ErrorKind::TimedOut, "it did not answer in time"));
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    let output = reader.join().unwrap_or_default();
    Ok(status.success().then_some(output))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn in_folder(files: &[(&str, &str)], variables: &[(&str, &str)]) -> (tempfile::TempDir, Credentials) {
        let folder = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = folder.path().join(path);
            fs_err::create_dir_all(path.parent().unwrap()).unwrap();
            fs_err::write(&path, text).unwrap();
            #[cfg(unix)]
            {
                use std::os::unix::fs::PermissionsExt as _;
                fs_err::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
            }
        }
        let home = folder.path().display().to_string();
        let replaced =
            variables.iter().map(|(name, value)| ((*name).to_owned(), value.replace("HOME", &home)));
        let environment = [("HOME".to_owned(), home.clone())].into_iter().chain(replaced).collect();
        (folder, Credentials::new(environment))
    }

    fn basic(user: &str, password: &str) -> Option<Credential> {
        Some(Credential::Basic { user: user.into(), password: Secret::new(password) })
    }

    #[test]
    fn dockers_file_is_read_in_all_its_forms() {
        let (_folder, credentials) = in_folder(
            &[(
                ".docker/config.json",
                r#"{"auths":{"https://index.docker.io/v1/":{"auth":"dXNlcjpwYXNz"},"ghcr.io":{"identitytoken":"it"},
                    "nvcr.io":{"username":"$oauthtoken","password":"key"},"empty.io":{}}}"#,
            )],
            &[],
        );
        assert_eq!(credentials.get(Service::Registry("docker.io")), basic("user", "pass"));
        assert_eq!(
            credentials.get(Service::Registry("ghcr.io")),
            Some(Credential::Identity(Secret::new("it")))
        );
        assert_eq!(credentials.get(Service::Registry("nvcr.io")), basic("$oauthtoken", "key"));
        assert_eq!(credentials.get(Service::Registry("empty.io")), None);
        assert_eq!(credentials.get(Service::Registry("other.io")), None);
        assert!(credentials.problems().is_empty());
    }

    #[cfg(unix)]
    #[test]
    fn a_credential_helper_is_asked_for_its_registry_alone() {
        let helper = "#!/bin/sh\nread server\nif [ \"$1 $server\" = 'get nvcr.io' ]; then echo '{\"ServerURL\":\"nvcr.io\",\"Username\":\"u\",\"Secret\":\"s\"}'; else exit 1; fi\n";
        let (_folder, credentials) = in_folder(
            &[
                ("bin/docker-credential-test", helper),
                (
                    ".docker/config.json",
                    r#"{"credHelpers":{"nvcr.io":"test","quay.io":"test","x.io":"absent","y.io":"../evil"}}"#,
                ),
            ],
            &[("PATH", "HOME/bin:/usr/bin:/bin")],
        );
        assert_eq!(credentials.get(Service::Registry("nvcr.io")), basic("u", "s"));
        assert_eq!(credentials.get(Service::Registry("quay.io")), None, "the helper has no login for it");
        assert!(credentials.problems().is_empty());
        assert_eq!(credentials.get(Service::Registry("x.io")), None);
        assert_eq!(credentials.get(Service::Registry("y.io")), None);
        assert_eq!(credentials.problems().len(), 2);
    }

    #[test]
    fn a_broken_file_is_reported_and_not_fatal() {
        let (_folder, credentials) = in_folder(&[(".docker/config.json", "{")], &[]);
        assert_eq!(credentials.get(Service::Registry("docker.io")), None);
        assert_eq!(credentials.problems().len(), 1);
    }

    #[test]
    fn the_hubs_token_comes_from_the_variable_or_the_file() {
        let token = |text: &str| Some(Credential::Bearer(Secret::new(text)));
        let file = [(".cache/huggingface/token", "from-file\n"), ("own/token", "from-own")];
        let (_folder, credentials) = in_folder(&file, &[("HF_TOKEN", "from-variable")]);
        assert_eq!(credentials.get(Service::Hub), token("from-variable"));
        let (_folder, credentials) = in_folder(&file, &[]);
        assert_eq!(credentials.get(Service::Hub), token("from-file"));
        let (_folder, credentials) = in_folder(&file, &[("HF_HOME", "HOME/own")]);
        assert_eq!(credentials.get(Service::Hub), token("from-own"));
        let (_folder, credentials) = in_folder(&[], &[("GH_TOKEN", "gh")]);
        assert_eq!(credentials.get(Service::Hub), None);
        assert_eq!(credentials.get(Service::Forge), token("gh"));
        assert!(!format!("{credentials:?}").contains("gh\""), "a token is never shown");
    }
}
