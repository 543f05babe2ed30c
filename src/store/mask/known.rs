//! What counts as a secret. Pure.

/// Shapes of keys, by whose they are. Each begins with letters that make it stand out; the longer prefix comes first.
pub const SHAPES: [(&str, &str); 21] = [
    (
        "private key",
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
    ),
    ("Anthropic key", r"sk-ant-[A-Za-z0-9_-]{16,}"),
    ("OpenRouter key", r"sk-or-[A-Za-z0-9_-]{16,}"),
    ("API key", r"sk-[A-Za-z0-9_-]{20,}"),
    ("Google key", r"AIza[A-Za-z0-9_-]{35}"),
    (
        "GitHub token",
        r"(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,})",
    ),
    ("GitLab token", r"glpat-[A-Za-z0-9_-]{20,}"),
    ("AWS key id", r"A(?:KI|SI)A[A-Z0-9]{16}"),
    ("Slack token", r"xox[abeoprs]-[A-Za-z0-9-]{10,}"),
    ("Stripe key", r"[rs]k_(?:live|test)_[A-Za-z0-9]{16,}"),
    ("Groq key", r"gsk_[A-Za-z0-9]{20,}"),
    ("xAI key", r"xai-[A-Za-z0-9]{20,}"),
    ("Hugging Face token", r"hf_[A-Za-z0-9]{30,}"),
    ("Perplexity key", r"pplx-[A-Za-z0-9]{20,}"),
    ("NVIDIA key", r"nvapi-[A-Za-z0-9_-]{20,}"),
    ("npm token", r"npm_[A-Za-z0-9]{36}"),
    ("PyPI token", r"pypi-[A-Za-z0-9_-]{50,}"),
    (
        "SendGrid key",
        r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    ),
    (
        "JSON web token",
        r"eyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]+",
    ),
    ("bearer token", r"[Bb]earer +[A-Za-z0-9._~+/-]{16,}=*"),
    (
        "URL with password",
        r"[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{0,100}:[^\s/@]{1,200}@",
    ),
];

/// Words of a variable's name that say that its value is secret.
const SECRET_WORDS: [&str; 16] = [
    "KEY",
    "KEYS",
    "APIKEY",
    "TOKEN",
    "TOKENS",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWD",
    "PASS",
    "PASSPHRASE",
    "PWD",
    "CREDENTIAL",
    "CREDENTIALS",
    "AUTH",
    "COOKIE",
];
/// Last words of names whose values only say where a secret lies, or how many of something there are.
const HARMLESS_ENDINGS: [&str; 12] = [
    "FILE", "PATH", "DIR", "SOCK", "SOCKET", "HOME", "TYPE", "NAME", "LIMIT", "MAX", "TTL", "PWD",
];
/// Shorter values occur by chance.
const SHORTEST: usize = 8;
/// A word of letters alone is a setting (`production`, `stateTransition`) more often than a secret, unless it is very long.
const LONGEST_WORD: usize = 20;

/// Whether the value of an environment variable is a secret, by its name.
pub fn is_secret_variable(name: &str, value: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let words: Vec<&str> = name
        .split(|letter: char| !letter.is_ascii_alphanumeric())
        .collect();
    let harmless = words
        .last()
        .is_some_and(|word| HARMLESS_ENDINGS.contains(word) && !is_password_variable(&words));
    !harmless && words.iter().any(|word| SECRET_WORDS.contains(word)) && may_be_secret(value)
}

/// `PWD` alone is the working folder; `DB_PWD` is a password.
fn is_password_variable(words: &[&str]) -> bool {
    words.len() > 1 && words.last() == Some(&"PWD") && !words.contains(&"OLD")
}

/// Values that are long enough and neither a number nor a plain word.
fn may_be_secret(value: &str) -> bool {
    let number = value
        .chars()
        .all(|letter| letter.is_ascii_digit() || ".:,-".contains(letter));
    let word = value.len() <= LONGEST_WORD
        && value
            .chars()
            .all(|letter| letter.is_ascii_alphabetic() || letter == '_');
    value.len() >= SHORTEST && !number && !word
}

/// Whether a file in the workspace's root holds settings that are secret: `.env`, `.env.local`, but no template.
pub fn is_env_file(name: &str) -> bool {
    const TEMPLATES: [&str; 5] = ["example", "sample", "template", "dist", "defaults"];
    match name.strip_prefix(".env") {
        Some("") => true,
        Some(rest) => rest
            .strip_prefix('.')
            .is_some_and(|kind| !TEMPLATES.iter().any(|template| kind.contains(template))),
        None => false,
    }
}

/// The values of a `.env` file that may be secret. Everything in it is, but what plainly is an address or a path.
pub fn from_env_file(text: &str) -> Vec<String> {
    let value_of = |line: &str| {
        let line = line.trim();
        if line.starts_with('#') {
            return None;
        }
        let (name, value) = line.split_once('=')?;
        let name = name.trim().trim_start_matches("export ").trim();
        let value = unquoted(value.trim());
        let plain = is_address(value) || value.starts_with('/') || value.starts_with("./");
        let secret = is_secret_variable(name, value) || (may_be_secret(value) && !plain);
        secret.then(|| value.to_owned())
    };
    text.lines().filter_map(value_of).collect()
}

/// An address without a password is none; one with a password is found by its shape.
fn is_address(value: &str) -> bool {
    value.contains("://")
        || value
            .split_once(':')
            .is_some_and(|(_, port)| port.parse::<u16>().is_ok())
}

/// The value without its quotes, or without the comment after it.
fn unquoted(value: &str) -> &str {
    for quote in ['"', '\'', '`'] {
        if let Some(rest) = value.strip_prefix(quote) {
            return rest.split_once(quote).map_or(rest, |(inner, _)| inner);
        }
    }
    value
        .split_once(" #")
        .map_or(value, |(value, _)| value.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_secret_by_name_and_value() {
        let cases = [
            ("ANTHROPIC_API_KEY", "x1234567", true),
            ("db_password", "hunter2!", true),
            ("DB_PWD", "hunter22", true),
            ("GITHUB_TOKEN", "abc 1234", true),
            ("PWD", "/home/user/project", false),
            ("OLDPWD", "/home/user/project", false),
            ("SSH_AUTH_SOCK", "/tmp/ssh-1/agent.1", false),
            ("GOOGLE_APPLICATION_CREDENTIALS_FILE", "/x/key.json", false),
            ("MAX_TOKENS", "100000000", false),
            ("API_KEY", "short", false),
            ("AUTH", "required_always", false),
            ("AUTH", "a_word_of_letters_that_is_very_long", true),
            ("KEYBOARD", "de-latin1-nodeadkeys", false),
            ("HOME", "/home/user1", false),
        ];
        for (name, value, want) in cases {
            assert_eq!(is_secret_variable(name, value), want, "{name}={value}");
        }
    }

    #[test]
    fn env_files_are_read_as_their_users_write_them() {
        let text = "# SECRET=not1this1\nexport A=abc12345 # note\r\nB=\"two words 1\" # c\nC='q#uo=ted1'\nD=\nnonsense\nNODE_ENV=production\nPORT=300000000\nURL=http://localhost:3000/x\nHOST=localhost1:8080\nLOG=./logs/app1.log\nAPI_KEY=/starts1with+slash==\nÜ=pässwört1\n";
        assert_eq!(
            from_env_file(text),
            [
                "abc12345",
                "two words 1",
                "q#uo=ted1",
                "/starts1with+slash==",
                "pässwört1"
            ]
        );
    }

    #[test]
    fn templates_are_no_env_files() {
        for (name, want) in [
            (".env", true),
            (".env.local", true),
            (".env.production", true),
            (".env.example", false),
            (".env.local.sample", false),
            (".envrc", false),
            ("env", false),
        ] {
            assert_eq!(is_env_file(name), want, "{name}");
        }
    }
}
