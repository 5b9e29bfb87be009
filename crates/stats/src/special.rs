//! The distribution functions that the tests need, each to about 1e-12 relative.
//!
//! Formulas: Abramowitz & Stegun 6.5 and 26.5 (incomplete gamma and beta as series and continued
//! fractions, evaluated by the modified Lentz method), Lanczos (1964) for the logarithm of gamma,
//! Acklam's rational approximation with one Halley step for the normal quantile.

const TINY: f64 = 1e-300;
const PRECISION: f64 = 1e-15;
const MOST_TERMS: u32 = 200_000;

/// ln Γ(x) for x > 0 (Lanczos with g = 7 and nine terms).
#[must_use]
pub fn ln_gamma(x: f64) -> f64 {
    const COEFFICIENTS: [f64; 8] = [
        676.520_368_121_885_1,
        -1_259.139_216_722_402_8,
        771.323_428_777_653_1,
        -176.615_029_162_140_6,
        12.507_343_278_686_905,
        -0.138_571_095_265_720_12,
        9.984_369_578_019_572e-6,
        1.505_632_735_149_311_6e-7,
    ];
    if x < 0.5 {
        return (std::f64::consts::PI / (std::f64::consts::PI * x).sin()).ln() - ln_gamma(1.0 - x);
    }
    let x = x - 1.0;
    let mut sum = 0.999_999_999_999_809_9;
    let mut position = x;
    for coefficient in COEFFICIENTS {
        position += 1.0;
        sum += coefficient / position;
    }
    let t = x + 7.5;
    0.5 * (2.0 * std::f64::consts::PI).ln() + (x + 0.5) * t.ln() - t + sum.ln()
}

/// ln n!
#[must_use]
pub fn ln_factorial(n: u64) -> f64 {
    ln_gamma(n as f64 + 1.0)
}

/// Value of a continued fraction `b0 + a1/(b1 + a2/(b2 + …))` by the modified Lentz method;
/// `term(j)` gives (a_j, b_j).
fn continued_fraction(b0: f64, term: impl Fn(f64) -> (f64, f64)) -> f64 {
    let away_from_zero = |x: f64| if x.abs() < TINY { TINY } else { x };
    let mut value = away_from_zero(b0);
    let (mut c, mut d) = (value, 0.0);
    for j in 1..MOST_TERMS {
        let (a, b) = term(f64::from(j));
        d = 1.0 / away_from_zero(b + a * d);
        c = away_from_zero(b + a / c);
        let step = c * d;
        value *= step;
        if (step - 1.0).abs() < PRECISION {
            break;
        }
    }
    value
}

/// The regularised upper incomplete gamma function Q(a, x), for a > 0.
#[must_use]
pub fn gamma_upper(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    let front = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum, mut k) = (1.0 / a, 1.0 / a, a);
        while term > sum * PRECISION * 0.1 {
            k += 1.0;
            term *= x / k;
            sum += term;
        }
        1.0 - front * sum
    } else {
        front / continued_fraction(x + 1.0 - a, |j| (-j * (j - a), x + 2.0 * j + 1.0 - a))
    }
}

/// The regularised incomplete beta function I_x(a, b), for a, b > 0.
#[must_use]
pub fn beta_incomplete(a: f64, b: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if x >= 1.0 {
        return 1.0;
    }
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - beta_fraction(b, a, 1.0 - x);
    }
    beta_fraction(a, b, x)
}

/// A&S 26.5.8, which converges fast for x < (a + 1)/(a + b + 2).
fn beta_fraction(a: f64, b: f64, x: f64) -> f64 {
    let front =
        (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * (-x).ln_1p()).exp() / a;
    let fraction = continued_fraction(1.0, |j| {
        let m = (j / 2.0).floor();
        let numerator = if j % 2.0 == 0.0 {
            m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m))
        } else {
            -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0))
        };
        (numerator, 1.0)
    });
    front / fraction
}

/// P(Z <= z) of a standard normal Z, accurate in both tails.
#[must_use]
pub fn normal_cdf(z: f64) -> f64 {
    let tail = 0.5 * gamma_upper(0.5, 0.5 * z * z);
    if z > 0.0 { 1.0 - tail } else { tail }
}

/// The two-sided p-value of a standard normal statistic.
#[must_use]
pub fn normal_two_sided(z: f64) -> f64 {
    gamma_upper(0.5, 0.5 * z * z)
}

/// The z with P(Z <= z) = p; infinite at 0 and 1.
#[must_use]
pub fn normal_quantile(p: f64) -> f64 {
    if p <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    if p > 0.5 {
        return -normal_quantile(1.0 - p);
    }
    let z = acklam(p);
    let error = (normal_cdf(z) - p) * (2.0 * std::f64::consts::PI).sqrt() * (0.5 * z * z).exp();
    z - error / (1.0 + 0.5 * z * error)
}

/// P. J. Acklam's rational approximation for p <= 0.5, relative error below 1.2e-9.
fn acklam(p: f64) -> f64 {
    const A: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const B: [f64; 6] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
        1.0,
    ];
    const C: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 5] = [
        7.784_695_709_041_462e-3,
        3.224_671_290_700_398e-1,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
        1.0,
    ];
    let horner = |coefficients: &[f64], x: f64| coefficients.iter().fold(0.0, |sum, c| sum * x + c);
    if p < 0.024_25 {
        let q = (-2.0 * p.ln()).sqrt();
        return horner(&C, q) / horner(&D, q);
    }
    let q = p - 0.5;
    horner(&A, q * q) * q / horner(&B, q * q)
}

/// P(T > t) of Student's t with `df` degrees of freedom, accurate in the upper tail.
#[must_use]
pub fn student_upper(t: f64, df: f64) -> f64 {
    let tail = 0.5 * beta_incomplete(0.5 * df, 0.5, df / (df + t * t));
    if t > 0.0 { tail } else { 1.0 - tail }
}

/// The t with P(T <= t) = p of Student's t with `df` degrees of freedom, by bisection to the last
/// bits.
#[must_use]
pub fn student_quantile(p: f64, df: f64) -> f64 {
    if p < 0.5 {
        return -student_quantile(1.0 - p, df);
    }
    if p >= 1.0 {
        return f64::INFINITY;
    }
    let (mut low, mut high) = (0.0, 1.0);
    while student_upper(high, df) > 1.0 - p {
        low = high;
        high *= 2.0;
    }
    bisect(low, high, |t| student_upper(t, df) > 1.0 - p)
}

/// The point in [low, high] up to which `below` holds.
pub(crate) fn bisect(mut low: f64, mut high: f64, below: impl Fn(f64) -> bool) -> f64 {
    loop {
        let middle = 0.5 * (low + high);
        if middle <= low || middle >= high {
            return middle;
        }
        if below(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
}

/// P(X > x) of chi-square with `df` degrees of freedom.
#[must_use]
pub fn chi_square_upper(x: f64, df: f64) -> f64 {
    gamma_upper(0.5 * df, 0.5 * x)
}

/// P(F > f) of Fisher's F with `df1` and `df2` degrees of freedom.
#[must_use]
pub fn f_upper(f: f64, df1: f64, df2: f64) -> f64 {
    if f <= 0.0 {
        1.0
    } else {
        beta_incomplete(0.5 * df2, 0.5 * df1, df2 / (df2 + df1 * f))
    }
}

/// The expected values are those of scipy 1.17.1: `stats.norm.cdf(x)`, `stats.t.ppf(p, df)`,
/// `stats.chi2.sf(x, df)` and so on.
#[cfg(test)]
mod tests {
    use super::*;

    fn close(found: f64, expected: f64, relative: f64, what: &str) {
        assert!(
            (found - expected).abs() <= relative * expected.abs().max(1e-300),
            "{what}: {found:e} is not {expected:e}"
        );
    }

    #[test]
    fn normal_distribution_agrees_with_scipy() {
        let cdf = [
            (-8.0, 6.220_960_574_271_74e-16),
            (-3.5, 0.000_232_629_079_035_525_02),
            (-1.96, 0.024_997_895_148_220_435),
            (-0.3, 0.382_088_577_811_047_4),
            (0.0, 0.5),
            (0.7, 0.758_036_347_776_927),
            (2.5, 0.993_790_334_674_223_8),
            (6.0, 0.999_999_999_013_412_3),
        ];
        for (z, expected) in cdf {
            close(normal_cdf(z), expected, 1e-12, "normal cdf");
            close(
                normal_two_sided(z),
                2.0 * normal_cdf(-z.abs()),
                1e-15,
                "two-sided",
            );
        }
        let quantiles = [
            (1e-12, -7.034_483_825_301_131),
            (1e-5, -4.264_890_793_922_825),
            (0.0039, -2.660_606_738_780_773),
            (0.025, -1.959_963_984_540_054_5),
            (0.3, -0.524_400_512_708_040_9),
            (0.8, 0.841_621_233_572_914_3),
            (0.975, 1.959_963_984_540_054),
            (0.9999, 3.719_016_485_455_709),
        ];
        for (p, expected) in quantiles {
            close(normal_quantile(p), expected, 1e-11, "normal quantile");
        }
        assert!(normal_quantile(0.5).abs() < 1e-15 && normal_quantile(0.0) == f64::NEG_INFINITY);
    }

    #[test]
    fn student_agrees_with_scipy() {
        let quantiles = [
            (0.975, 1.0, 12.706_204_736_174_694),
            (0.975, 4.0, 2.776_445_105_197_793_4),
            (0.975, 5.0, 2.570_581_835_636_314_6),
            (0.8, 9.0, 0.883_403_859_685_534_6),
            (0.995, 29.0, 2.756_385_903_670_605),
            (0.01, 14.0, -2.624_494_067_590_051_7),
            (0.9, 2.0, 1.885_618_083_164_126_7),
            (0.975, 1e6, 1.959_966_356_814_107),
            (0.9999, 3.0, 22.203_742_273_205),
        ];
        for (p, df, expected) in quantiles {
            close(student_quantile(p, df), expected, 1e-9, "t quantile");
        }
        let cdf = [
            (-2.5, 4.0, 0.033_383_272_405_994_07),
            (0.3, 1.0, 0.592_773_579_077_742_3),
            (3.3, 9.0, 0.995_385_045_840_726_5),
        ];
        for (t, df, expected) in cdf {
            close(1.0 - student_upper(t, df), expected, 1e-12, "t cdf");
        }
        close(
            student_upper(12.0, 3.0),
            0.000_622_507_900_394_668_1,
            1e-12,
            "t upper tail",
        );
    }

    #[test]
    fn chi_square_and_f_agree_with_scipy() {
        for (x, df, expected) in [
            (3.84, 1.0, 0.050_043_521_248_705_19),
            (0.5, 3.0, 0.918_891_411_654_675_8),
            (30.0, 6.0, 3.930_844_818_448_459e-5),
            (100.0, 120.0, 0.907_734_948_041_067),
            (250.0, 120.0, 3.636_477_011_044_935e-11),
        ] {
            close(chi_square_upper(x, df), expected, 1e-11, "chi-square");
        }
        for (f, df1, df2, expected) in [
            (1.0, 5.0, 10.0, 0.465_119_426_537_800_36),
            (3.2, 29.0, 30.0, 0.001_100_576_354_560_293_3),
            (0.4, 12.0, 40.0, 0.955_263_934_744_534_6),
            (10.7, 29.0, 30.0, 2.557_630_276_526_519e-9),
            (1.2, 199.0, 1200.0, 0.040_398_635_921_264_98),
        ] {
            close(f_upper(f, df1, df2), expected, 1e-11, "F");
        }
    }

    #[test]
    fn gamma_and_beta_agree_with_scipy() {
        for (x, expected) in [
            (0.5, 0.572_364_942_924_7),
            (3.5, 1.200_973_602_347_074_3),
            (10.0, 12.801_827_480_081_469),
            (1e5, 1_051_287.708_973_656_9),
        ] {
            close(ln_gamma(x), expected, 1e-13, "ln gamma");
        }
        assert!(ln_gamma(1.0).abs() < 1e-14);
        for (a, b, x, expected) in [
            (0.5, 0.5, 0.2, 0.295_167_235_300_866_5),
            (2.0, 3.0, 0.5, 0.6875),
            (50.0, 70.0, 0.4, 0.359_134_608_834_494_5),
            (1000.0, 10.0, 0.99, 0.446_042_270_845_508_74),
            (4.5, 0.5, 0.9, 0.343_436_396_137_913_4),
        ] {
            close(beta_incomplete(a, b, x), expected, 1e-11, "beta");
        }
        for (a, x, expected) in [
            (0.5, 0.1, 0.654_720_846_018_576_8),
            (3.0, 2.0, 0.676_676_416_183_063_4),
            (10.0, 25.0, 0.000_221_476_638_248_783_5),
            (0.5, 40.0, 3.744_097_384_202_887e-19),
        ] {
            close(gamma_upper(a, x), expected, 1e-12, "gamma");
        }
    }
}
