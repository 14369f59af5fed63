//! `Sec-WebSocket-Extensions` (RFC 6455, 9.1): `name; parameter; parameter=value, name …`.

/// One extension with its parameters, as offered or answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extension {
    /// The registered name.
    pub name: String,
    /// In the order of the header.
    pub parameters: Vec<Parameter>,
}

/// `name` or `name=value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// The parameter's name.
    pub name: String,
    /// The value without its quotes.
    pub value: Option<String>,
}

/// The header breaks the grammar.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`Sec-WebSocket-Extensions: {0}` is malformed")]
pub struct ExtensionsError(pub String);

/// Reads the value of one header line.
///
/// # Errors
/// If an element is no token, or a quoted value is not a token once unquoted.
pub fn parse(header: &str) -> Result<Vec<Extension>, ExtensionsError> {
    let malformed = || ExtensionsError(header.to_owned());
    let mut extensions = Vec::new();
    // A quoted value must be a token inside (9.1), and tokens hold neither `,` nor `;` nor `=`: splitting is safe.
    for element in header
        .split(',')
        .map(str::trim)
        .filter(|element| !element.is_empty())
    {
        let mut parts = element.split(';').map(str::trim);
        let name = parts
            .next()
            .filter(|name| is_token(name))
            .ok_or_else(malformed)?;
        let parameters = parts
            .map(parse_parameter)
            .collect::<Option<_>>()
            .ok_or_else(malformed)?;
        extensions.push(Extension {
            name: name.to_owned(),
            parameters,
        });
    }
    Ok(extensions)
}

fn parse_parameter(part: &str) -> Option<Parameter> {
    let (name, value) = match part.split_once('=') {
        None => (part, None),
        Some((name, value)) => (name.trim_end(), Some(unquote(value.trim_start())?)),
    };
    is_token(name).then(|| Parameter {
        name: name.to_owned(),
        value: value.map(str::to_owned),
    })
}

fn unquote(value: &str) -> Option<&str> {
    let bare = match value.strip_prefix('"') {
        Some(quoted) => quoted.strip_suffix('"')?,
        None => value,
    };
    is_token(bare).then_some(bare)
}

/// RFC 9110, 5.6.2.
pub(crate) fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}
