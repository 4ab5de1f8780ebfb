//! What webpki does not tell of a certificate: until when it is valid, and the names that it is for.

use rustls::pki_types::CertificateDer;

/// The common name, in the encoding of its kind.
const COMMON_NAME: &[u8] = &[0x55, 4, 3];

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT: u8 = 6;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;
const VERSION: u8 = 0xa0;

/// What a certificate says of itself. Nothing of it is checked here.
#[derive(Clone, Copy, Debug)]
pub(super) struct Said<'c> {
    pub(super) issuer: &'c [u8],
    pub(super) subject: &'c [u8],
    /// Seconds since 1970.
    pub(super) not_before: u64,
    pub(super) not_after: u64,
}

impl<'c> Said<'c> {
    pub(super) fn of(certificate: &'c CertificateDer<'_>) -> Option<Said<'c>> {
        let mut whole = Der(certificate);
        let mut inner = Der(Der(whole.take(SEQUENCE)?).take(SEQUENCE)?);
        if inner.0.first() == Some(&VERSION) {
            inner.take(VERSION)?;
        }
        let (_serial, _algorithm) = (inner.next()?, inner.next()?);
        let issuer = inner.take(SEQUENCE)?;
        let mut valid = Der(inner.take(SEQUENCE)?);
        let (not_before, not_after) = (valid.time()?, valid.time()?);
        Some(Said { issuer, subject: inner.take(SEQUENCE)?, not_before, not_after })
    }

    /// The common name of whom the certificate is for.
    pub(super) fn common_name(&self) -> Option<String> {
        common_name(self.subject)
    }
}

/// The common name in a name.
pub(super) fn common_name(name: &[u8]) -> Option<String> {
    let mut parts = Der(name);
    while let Some(part) = parts.take(SET) {
        let mut pair = Der(Der(part).take(SEQUENCE)?);
        let (kind, value) = (pair.take(OBJECT)?, pair.next()?.1);
        if kind == COMMON_NAME {
            return std::str::from_utf8(value).ok().map(str::to_owned);
        }
    }
    None
}

/// Elements that follow each other.
struct Der<'c>(&'c [u8]);

impl<'c> Der<'c> {
    /// The tag and the content of the next element.
    fn next(&mut self) -> Option<(u8, &'c [u8])> {
        let (&[tag, first], rest) = self.0.split_first_chunk::<2>()?;
        let (length, rest) = match first {
            0..=0x7f => (usize::from(first), rest),
            0x81..=0x83 => {
                let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
                (bytes.iter().fold(0, |sum, &byte| sum << 8 | usize::from(byte)), rest)
            }
            _ => return None,
        };
        let (content, rest) = rest.split_at_checked(length)?;
        self.0 = rest;
        Some((tag, content))
    }

    fn take(&mut self, expected: u8) -> Option<&'c [u8]> {
        self.next().filter(|&(tag, _)| tag == expected).map(|(_, content)| content)
    }

    /// Seconds since 1970.
    fn time(&mut self) -> Option<u64> {
        let (tag, text) = self.next()?;
        let text = std::str::from_utf8(text).ok().filter(|text| text.is_ascii())?;
        let (year, rest) = match tag {
            UTC_TIME => {
                let (year, rest) = text.split_at_checked(2)?;
                let year: i64 = year.parse().ok()?;
                (if year < 50 { 2000 + year } else { 1900 + year }, rest)
            }
            GENERALIZED_TIME => {
                let (year, rest) = text.split_at_checked(4)?;
                (year.parse().ok()?, rest)
            }
            _ => return None,
        };
        let part = |at: usize| rest.get(2 * at..2 * at + 2)?.parse::<i64>().ok();
        let (month, day) = (part(0)?, part(1)?);
        let seconds = (part(2)? * 60 + part(3)?) * 60 + part(4)?;
        if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
            return None;
        }
        (days(year, month, day) * 86_400 + seconds).try_into().ok()
    }
}

/// The days from 1970 to a date of the Gregorian calendar, whose years begin in March here.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// A time in words: `2026-11-22 18:05 UTC`.
pub(super) fn date(seconds: u64) -> String {
    let (days, of_day) = (seconds as i64 / 86_400 + 719_468, seconds % 86_400);
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + i64::from(month <= 2);
    format!("{year:04}-{month:02}-{day:02} {:02}:{:02} UTC", of_day / 3600, of_day / 60 % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_as_in_a_calendar() {
        for (year, month, day, text) in [
            (1970, 1, 1, "1970-01-01 00:00 UTC"),
            (2000, 2, 29, "2000-02-29 00:00 UTC"),
            (2024, 12, 31, "2024-12-31 00:00 UTC"),
            (2100, 3, 1, "2100-03-01 00:00 UTC"),
        ] {
            assert_eq!(date(days(year, month, day) as u64 * 86_400), text);
        }
        assert_eq!(date(1_000_000_000), "2001-09-09 01:46 UTC");
    }

    #[test]
    fn a_certificate_says_until_when_it_holds_and_for_whom() {
        let mut params = rcgen::CertificateParams::new(vec!["a.example".into()]).unwrap();
        params.distinguished_name.push(rcgen::DnType::CommonName, "Ä b");
        params.not_before = rcgen::date_time_ymd(2020, 1, 2);
        params.not_after = rcgen::date_time_ymd(2060, 3, 4);
        let certificate = params.self_signed(&rcgen::KeyPair::generate().unwrap()).unwrap();
        let said = Said::of(certificate.der()).unwrap();
        assert_eq!(said.common_name().as_deref(), Some("Ä b"));
        assert_eq!(said.issuer, said.subject);
        assert_eq!(date(said.not_before), "2020-01-02 00:00 UTC");
        assert_eq!(date(said.not_after), "2060-03-04 00:00 UTC");
        for cut in 0..certificate.der().len() {
            let cut = CertificateDer::from(&certificate.der()[..cut]);
            assert!(Said::of(&cut).is_none());
        }
    }
}
