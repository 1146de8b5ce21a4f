//! Numbers as text, in the forms that Nix uses.

/// Returns a float as Nix prints values: C's `%g` with six digits.
pub(crate) fn printed(value: f64) -> String {
    if let Some(special) = special(value) {
        return special.to_owned();
    }
    if value == 0.0 {
        return if value.is_sign_negative() { "-0".to_owned() } else { "0".to_owned() };
    }
    let scientific = format!("{value:.5e}");
    let (digits, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        let decimals = usize::try_from(5 - exponent).unwrap_or(0);
        trimmed(&format!("{value:.decimals$}")).to_owned()
    } else {
        format!("{}{}", trimmed(digits), signed_exponent(exponent))
    }
}

/// Returns a float as `toString` writes it: C's `%f`.
pub(crate) fn fixed(value: f64) -> String {
    special(value).map_or_else(|| format!("{value:.6}"), str::to_owned)
}

/// Returns a float as JSON, a text that reads back as the same number; `null` where
/// JSON has no number. The form, such as `1.0` and `1e+16`, is that of Nix's JSON library.
pub(crate) fn json(value: f64) -> String {
    if !value.is_finite() {
        return "null".to_owned();
    }
    if value == 0.0 {
        return if value.is_sign_negative() { "-0.0".to_owned() } else { "0.0".to_owned() };
    }
    let (digits, last) = crate::grisu::digits(value.abs());
    let sign = if value < 0.0 { "-" } else { "" };
    // Where the decimal point stands, counted from the first digit.
    let point = i32::try_from(digits.len()).unwrap_or(0) + last;
    let exponent = point - 1;
    let count = i32::try_from(digits.len()).unwrap_or(0);
    let zeros = |n: i32| "0".repeat(usize::try_from(n).unwrap_or(0));
    let cut = usize::try_from(point).unwrap_or(0);
    if count <= point && point <= 15 {
        format!("{sign}{digits}{}.0", zeros(point - count))
    } else if 0 < point && point <= 15 {
        format!("{sign}{}.{}", &digits[..cut], &digits[cut..])
    } else if -4 < point && point <= 0 {
        format!("{sign}0.{}{digits}", zeros(-point))
    } else if count == 1 {
        format!("{sign}{digits}{}", signed_exponent(exponent))
    } else {
        format!("{sign}{}.{}{}", &digits[..1], &digits[1..], signed_exponent(exponent))
    }
}

fn special(value: f64) -> Option<&'static str> {
    if value.is_nan() {
        Some(if value.is_sign_negative() { "-nan" } else { "nan" })
    } else if value.is_infinite() {
        Some(if value < 0.0 { "-inf" } else { "inf" })
    } else {
        None
    }
}

/// C writes exponents with a sign and at least two digits.
fn signed_exponent(exponent: i32) -> String {
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("e{sign}{:02}", exponent.unsigned_abs())
}

fn trimmed(digits: &str) -> &str {
    if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { digits }
}

#[cfg(test)]
mod tests {
    use super::*;

    // What Nix 2.34.8 prints.
    #[test]
    fn floats_print_as_in_nix() {
        let cases = [
            (1.0, "1"),
            (0.1, "0.1"),
            (1.0e100, "1e+100"),
            (123_456_789.123, "1.23457e+08"),
            (1.0e15, "1e+15"),
            (1.0e-5, "1e-05"),
            (1.0e-4, "0.0001"),
            (100_000.0, "100000"),
            (1_000_000.0, "1e+06"),
            (1_234_567.0, "1.23457e+06"),
            (999_999.5, "1e+06"),
            (f64::INFINITY, "inf"),
        ];
        for (value, expected) in cases {
            assert_eq!(printed(value), expected);
        }
    }

    #[test]
    fn floats_are_json_as_in_nix() {
        let cases = [
            (1.0, "1.0"),
            (0.1, "0.1"),
            (-1.5, "-1.5"),
            (1.0e14, "100000000000000.0"),
            (1.0e15, "1e+15"),
            (123_456_789.123, "123456789.123"),
            (1.0e-5, "1e-05"),
            (1.0e-4, "0.0001"),
            (1.5e16, "1.5e+16"),
            (1.797_693_134_862_315_7e308, "1.7976931348623157e+308"),
            (f64::INFINITY, "null"),
        ];
        for (value, expected) in cases {
            assert_eq!(json(value), expected);
        }
    }
}
