//! Small decimals, exactly: acceptance lengths and what is computed from them.

use std::fmt;

/// A decimal in millionths.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Decimal(i64);

impl Decimal {
    /// One.
    pub const ONE: Self = Self(1_000_000);

    /// Two lengths that differ by this or less are one: upstream rounds to two places.
    const TOLERANCE: i64 = 5_000;

    /// Reads `2.49`, `3`, `.5`; digits beyond millionths are rounded. `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let only_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.len() + fraction.len() == 0
            || !only_digits(whole)
            || !only_digits(fraction)
            || whole.len() > 9
        {
            return None;
        }
        let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let mut millionths: i64 = 0;
        for place in 0..6 {
            let digit = fraction.as_bytes().get(place).map_or(0, |byte| i64::from(byte - b'0'));
            millionths = millionths * 10 + digit;
        }
        if fraction.as_bytes().get(6).is_some_and(|byte| *byte >= b'5') {
            millionths += 1;
        }
        Some(Self(sign * (whole * 1_000_000 + millionths)))
    }

    /// Returns a whole number.
    #[must_use]
    pub fn whole(number: u32) -> Self {
        Self(i64::from(number) * 1_000_000)
    }

    /// Returns whether two are one within the tolerance of 0.005.
    #[must_use]
    pub fn is_near(self, other: Self) -> bool {
        (self.0 - other.0).abs() <= Self::TOLERANCE
    }

    /// Returns the sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }

    /// Returns the difference.
    #[must_use]
    pub fn minus(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }

    /// Returns the product with a whole number.
    #[must_use]
    pub fn times(self, number: u32) -> Self {
        Self(self.0.saturating_mul(i64::from(number)))
    }

    /// Returns the quotient by a whole number, rounded; itself for a divisor of 0.
    #[must_use]
    pub fn over(self, number: u32) -> Self {
        let by = i64::from(number);
        if by == 0 { self } else { Self((self.0 + by / 2).div_euclid(by)) }
    }

    /// Returns it with exactly two places, as upstream writes lengths: `1.78`.
    #[must_use]
    pub fn two_places(self) -> String {
        let hundredths = (self.0.abs() + 5_000) / 10_000;
        let sign = if self.0 < 0 { "-" } else { "" };
        format!("{sign}{}.{:02}", hundredths / 100, hundredths % 100)
    }
}

impl fmt::Display for Decimal {
    /// Writes as few places as say it all, at least two.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 % 10_000 == 0 {
            return f.write_str(&self.two_places());
        }
        let sign = if self.0 < 0 { "-" } else { "" };
        let text = format!("{sign}{}.{:06}", self.0.abs() / 1_000_000, self.0.abs() % 1_000_000);
        f.write_str(text.trim_end_matches('0'))
    }
}

#[cfg(test)]
mod tests {
    use super::Decimal;

    #[test]
    fn arithmetic_is_exact_and_comparison_tolerant() {
        let read = |text| Decimal::parse(text).expect("a number");
        assert_eq!(read("2.5"), read("2.50"));
        // (2.99 - 1) / 3 as one script writes it, and back.
        assert!(read("0.663333").times(3).plus(Decimal::ONE).is_near(read("2.99")));
        assert!(!read("2.50").is_near(read("2.51")));
        assert_eq!(read("2.78").minus(Decimal::ONE).two_places(), "1.78");
        assert_eq!(read("3.5").minus(Decimal::ONE).to_string(), "2.50");
        assert_eq!(Decimal::parse("2,5").or(Decimal::parse("")), None);
    }
}
