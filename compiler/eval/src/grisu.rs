//! The digits of a float as Nix's JSON library finds them.
//!
//! That library uses Grisu2 (Florian Loitsch, "Printing Floating-Point Numbers Quickly and Accurately
//! with Integers", 2010), which for one float in a thousand gives a digit more than is needed. To
//! agree with Nix in every byte, so does this.

/// A float of 64 bits of precision: `f` times two to the power of `e`.
#[derive(Clone, Copy)]
struct Wide {
    f: u64,
    e: i32,
}

impl Wide {
    fn times(self, other: Self) -> Self {
        let product = u128::from(self.f) * u128::from(other.f);
        // Rounded to the upper half.
        Self { f: ((product + (1 << 63)) >> 64) as u64, e: self.e + other.e + 64 }
    }

    fn normal(self) -> Self {
        let shift = self.f.leading_zeros();
        Self { f: self.f << shift, e: self.e - shift as i32 }
    }
}

/// Returns the digits of a positive finite float, and the power of ten that the last one counts.
pub(crate) fn digits(value: f64) -> (String, i32) {
    let bits = value.to_bits();
    let (exponent, fraction) = ((bits >> 52) as i32 & 0x7ff, bits & ((1 << 52) - 1));
    let exact = if exponent == 0 {
        Wide { f: fraction, e: -1074 }
    } else {
        Wide { f: fraction | 1 << 52, e: exponent - 1075 }
    };
    // Half way to the neighbours; below a power of two the neighbour is nearer.
    let above = Wide { f: 2 * exact.f + 1, e: exact.e - 1 }.normal();
    let below = if fraction == 0 && exponent > 1 {
        Wide { f: 4 * exact.f - 1, e: exact.e - 2 }
    } else {
        Wide { f: 2 * exact.f - 1, e: exact.e - 1 }
    };
    let below = Wide { f: below.f << (below.e - above.e), e: above.e };
    let exact = exact.normal();

    // A power of ten that brings the exponent between -60 and -32.
    let f = -60 - above.e - 1;
    let k = f * 78_913 / (1 << 18) + i32::from(f > 0);
    let index = ((300 + k + 7) / 8) as usize;
    let Some(&(f, e)) = POWERS.get(index) else { return (String::new(), 0) };
    let power = Wide { f, e };
    let (exact, below, above) = (exact.times(power), below.times(power), above.times(power));
    let (low, high) = (below.f + 1, above.f - 1);
    let mut digits = Vec::with_capacity(17);
    let exponent = generate(&mut digits, low, exact.f, high, above.e) + 300 - 8 * index as i32;
    (String::from_utf8(digits).unwrap_or_default(), exponent)
}

/// Appends the digits of a number between `low` and `high`, as near to `exact` as they get.
/// Returns the power of ten that the last one counts.
fn generate(digits: &mut Vec<u8>, low: u64, exact: u64, high: u64, e: i32) -> i32 {
    let (mut delta, mut distance) = (high - low, high - exact);
    let shift = -e as u32;
    let one = 1_u64 << shift;
    let (mut whole, mut part) = ((high >> shift) as u32, high & (one - 1));
    let mut left = whole.checked_ilog10().map_or(1, |log| log as i32 + 1);
    let mut ten = 10_u32.pow(left as u32 - 1);
    while left > 0 {
        digits.push(b'0' + (whole / ten) as u8);
        whole %= ten;
        left -= 1;
        let rest = (u64::from(whole) << shift) + part;
        if rest <= delta {
            round(digits, distance, delta, rest, u64::from(ten) << shift);
            return left;
        }
        ten /= 10;
    }
    let mut exponent = 0;
    loop {
        part *= 10;
        digits.push(b'0' + (part >> shift) as u8);
        part &= one - 1;
        exponent -= 1;
        delta *= 10;
        distance *= 10;
        if part <= delta {
            round(digits, distance, delta, part, one);
            return exponent;
        }
    }
}

/// Lowers the last digit as long as that brings the number nearer.
fn round(digits: &mut [u8], distance: u64, delta: u64, mut rest: u64, step: u64) {
    while rest < distance
        && delta - rest >= step
        && (rest + step < distance || distance - rest > rest + step - distance)
    {
        if let Some(last) = digits.last_mut() {
            *last -= 1;
        }
        rest += step;
    }
}

/// Powers of ten from -300 on in steps of eight, each with 64 bits of precision.
#[rustfmt::skip]
const POWERS: [(u64, i32); 79] = [
    (0xab70_fe17_c79a_c6ca, -1060),
    (0xff77_b1fc_bebc_dc4f, -1034),
    (0xbe56_91ef_416b_d60c, -1007),
    (0x8dd0_1fad_907f_fc3c, -980),
    (0xd351_5c28_3155_9a83, -954),
    (0x9d71_ac8f_ada6_c9b5, -927),
    (0xea9c_2277_23ee_8bcb, -901),
    (0xaecc_4991_4078_536d, -874),
    (0x823c_1279_5db6_ce57, -847),
    (0xc210_9436_4dfb_5637, -821),
    (0x9096_ea6f_3848_984f, -794),
    (0xd774_85cb_2582_3ac7, -768),
    (0xa086_cfcd_97bf_97f4, -741),
    (0xef34_0a98_172a_ace5, -715),
    (0xb238_67fb_2a35_b28e, -688),
    (0x84c8_d4df_d2c6_3f3b, -661),
    (0xc5dd_4427_1ad3_cdba, -635),
    (0x936b_9fce_bb25_c996, -608),
    (0xdbac_6c24_7d62_a584, -582),
    (0xa3ab_6658_0d5f_daf6, -555),
    (0xf3e2_f893_dec3_f126, -529),
    (0xb5b5_ada8_aaff_80b8, -502),
    (0x8762_5f05_6c7c_4a8b, -475),
    (0xc9bc_ff60_34c1_3053, -449),
    (0x964e_858c_91ba_2655, -422),
    (0xdff9_7724_7029_7ebd, -396),
    (0xa6df_bd9f_b8e5_b88f, -369),
    (0xf8a9_5fcf_8874_7d94, -343),
    (0xb944_7093_8fa8_9bcf, -316),
    (0x8a08_f0f8_bf0f_156b, -289),
    (0xcdb0_2555_6531_31b6, -263),
    (0x993f_e2c6_d07b_7fac, -236),
    (0xe45c_10c4_2a2b_3b06, -210),
    (0xaa24_2499_6973_92d3, -183),
    (0xfd87_b5f2_8300_ca0e, -157),
    (0xbce5_0864_9211_1aeb, -130),
    (0x8cbc_cc09_6f50_88cc, -103),
    (0xd1b7_1758_e219_652c, -77),
    (0x9c40_0000_0000_0000, -50),
    (0xe8d4_a510_0000_0000, -24),
    (0xad78_ebc5_ac62_0000, 3),
    (0x813f_3978_f894_0984, 30),
    (0xc097_ce7b_c907_15b3, 56),
    (0x8f7e_32ce_7bea_5c70, 83),
    (0xd5d2_38a4_abe9_8068, 109),
    (0x9f4f_2726_179a_2245, 136),
    (0xed63_a231_d4c4_fb27, 162),
    (0xb0de_6538_8cc8_ada8, 189),
    (0x83c7_088e_1aab_65db, 216),
    (0xc45d_1df9_4271_1d9a, 242),
    (0x924d_692c_a61b_e758, 269),
    (0xda01_ee64_1a70_8dea, 295),
    (0xa26d_a399_9aef_774a, 322),
    (0xf209_787b_b47d_6b85, 348),
    (0xb454_e4a1_79dd_1877, 375),
    (0x865b_8692_5b9b_c5c2, 402),
    (0xc835_53c5_c896_5d3d, 428),
    (0x952a_b45c_fa97_a0b3, 455),
    (0xde46_9fbd_99a0_5fe3, 481),
    (0xa59b_c234_db39_8c25, 508),
    (0xf6c6_9a72_a398_9f5c, 534),
    (0xb7dc_bf53_54e9_bece, 561),
    (0x88fc_f317_f222_41e2, 588),
    (0xcc20_ce9b_d35c_78a5, 614),
    (0x9816_5af3_7b21_53df, 641),
    (0xe2a0_b5dc_971f_303a, 667),
    (0xa8d9_d153_5ce3_b396, 694),
    (0xfb9b_7cd9_a4a7_443c, 720),
    (0xbb76_4c4c_a7a4_4410, 747),
    (0x8bab_8eef_b640_9c1a, 774),
    (0xd01f_ef10_a657_842c, 800),
    (0x9b10_a4e5_e991_3129, 827),
    (0xe710_9bfb_a19c_0c9d, 853),
    (0xac28_20d9_623b_f429, 880),
    (0x8044_4b5e_7aa7_cf85, 907),
    (0xbf21_e440_03ac_dd2d, 933),
    (0x8e67_9c2f_5e44_ff8f, 960),
    (0xd433_179d_9c8c_b841, 986),
    (0x9e19_db92_b4e3_1ba9, 1013),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_read_back_as_the_same_float() {
        let mut state = 1_u64;
        for _ in 0..200_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let value = f64::from_bits(state & !(1 << 63));
            if value.is_finite() && value > 0.0 {
                let (digits, exponent) = digits(value);
                assert_eq!(format!("{digits}e{exponent}").parse(), Ok(value));
            }
        }
        for value in [f64::MIN_POSITIVE, f64::MAX, 5e-324, 1.0, 0.1, 1e23, 9007199254740992.0] {
            let (digits, exponent) = digits(value);
            assert_eq!(format!("{digits}e{exponent}").parse(), Ok(value));
        }
    }

    // Answers of Nix 2.34.8.
    #[test]
    fn the_digits_are_those_of_nix_even_where_fewer_would_do() {
        assert_eq!(digits(1.0e20 / 0.1 * 21.0), ("20999999999999998".to_owned(), 6));
        assert_eq!(digits(4_611_686_018_427_387_904.0 / 130.0), ("35474507834056832".to_owned(), 0));
        assert_eq!(digits(0.1), ("1".to_owned(), -1));
    }
}
