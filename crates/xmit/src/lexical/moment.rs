//! Times and durations as XML Schema and JSON Schema write them, and the integers that they are in records (`spec/xmit.md`,
//! "Simple types").

use crate::markup::Lexical;

const SECOND: i128 = 1_000_000_000;
const DAY: i128 = 86_400 * SECOND;

/// The integer that a text means for a field with this unit; `None` if the text is not of that form.
pub(super) fn in_unit(unit: &str, text: &str) -> Option<i128> {
    match unit {
        "ns since 1970-01-01T00:00:00Z" => moment(text),
        "d since 1970-01-01" => date(text.strip_suffix('Z').unwrap_or(text)),
        "ns" if text.trim_start_matches('-').starts_with('P') => day_time(text),
        "ns" => time(text.strip_suffix('Z').unwrap_or(text)).filter(|&time| time < DAY),
        "months" => year_month(text),
        _ => None,
    }
}

/// The integer that a text of this kind means; `None` if it is none.
pub(super) fn read(lexical: Lexical, text: &str) -> Option<i128> {
    let local = text.strip_suffix('Z').unwrap_or(text);
    match lexical {
        Lexical::DateTime => moment(text),
        Lexical::Date => date(local),
        Lexical::Time => time(local).filter(|&time| time < DAY),
        Lexical::DayTime => day_time(text),
        Lexical::YearMonth => year_month(text),
        _ => None,
    }
}

/// The text of this kind for an integer, which [`read`] reads as the same; `None` if there is none.
pub(super) fn write(lexical: Lexical, number: i128) -> Option<String> {
    let most = match lexical {
        Lexical::Date => 99_999_999 * 366,
        _ => i128::from(u64::MAX),
    };
    if number.abs() > most {
        return None;
    }
    Some(match lexical {
        Lexical::DateTime => {
            format!("{}T{}Z", day(number.div_euclid(DAY)), clock(number.rem_euclid(DAY)))
        }
        Lexical::Date => day(number),
        Lexical::Time if (0..DAY).contains(&number) => clock(number),
        Lexical::DayTime => format!("{}P{}", minus(number), span(number.abs())),
        Lexical::YearMonth => format!("{}P{}", minus(number), months(number.abs())),
        _ => return None,
    })
}

/// A duration: months, and nanoseconds, both of one sign.
pub(super) fn read_duration(text: &str) -> Option<(i128, i128)> {
    let (sign, rest) = signed(text)?;
    let (dates, _) = rest.split_once('T').unwrap_or((rest, ""));
    let (years, behind) = part(dates, 'Y')?;
    let (months, behind) = part(behind, 'M')?;
    // Days and times are those of a duration without months.
    let rest = &rest[dates.len() - behind.len()..];
    let time = if rest.is_empty() { 0 } else { day_time(&format!("P{rest}"))? };
    Some((sign * (years * 12 + months), sign * time))
}

/// The text that [`read_duration`] reads; `None` if signs differ.
pub(super) fn write_duration(months: i128, time: i128) -> Option<String> {
    if months.signum() * time.signum() < 0 {
        return None;
    }
    let sign = minus(months + time);
    Some(match (months.abs(), time.abs()) {
        (0, time) => format!("{sign}P{}", span(time)),
        (months, 0) => format!("{sign}P{}", self::months(months)),
        (months, time) => format!("{sign}P{}{}", self::months(months), span(time)),
    })
}

fn minus(number: i128) -> &'static str {
    if number < 0 { "-" } else { "" }
}

/// A day since 1970 as a date.
fn day(days: i128) -> String {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = era * 400 + year + i128::from(month <= 2);
    format!("{}{:04}-{month:02}-{day:02}", minus(year), year.abs())
}

/// Nanoseconds since midnight as a time.
fn clock(time: i128) -> String {
    let seconds = time / SECOND;
    format!("{:02}:{:02}:{:02}{}", seconds / 3_600, seconds / 60 % 60, seconds % 60, behind_the_point(time))
}

fn behind_the_point(time: i128) -> String {
    match time % SECOND {
        0 => String::new(),
        rest => format!(".{rest:09}").trim_end_matches('0').to_owned(),
    }
}

/// Nanoseconds as days, hours, minutes and seconds.
fn span(time: i128) -> String {
    let (days, rest) = (time / DAY, time % DAY);
    let seconds = rest / SECOND;
    let mut text = if days > 0 { format!("{days}D") } else { String::new() };
    if rest > 0 || days == 0 {
        text.push('T');
        for (number, letter) in [(seconds / 3_600, 'H'), (seconds / 60 % 60, 'M')] {
            if number > 0 {
                text.push_str(&format!("{number}{letter}"));
            }
        }
        if rest % (60 * SECOND) > 0 || rest == 0 {
            text.push_str(&format!("{}{}S", seconds % 60, behind_the_point(rest)));
        }
    }
    text
}

fn months(months: i128) -> String {
    match (months / 12, months % 12) {
        (0, months) => format!("{months}M"),
        (years, 0) => format!("{years}Y"),
        (years, months) => format!("{years}Y{months}M"),
    }
}

/// `2002-05-30T09:30:10.5Z`; without a zone, it is that of `Z`.
fn moment(text: &str) -> Option<i128> {
    let (day, rest) = text.split_once('T')?;
    let (clock, zone) = match rest.strip_suffix('Z') {
        Some(clock) => (clock, 0),
        None => match rest.rfind(['+', '-']) {
            Some(at) => (&rest[..at], zone(&rest[at..])?),
            None => (rest, 0),
        },
    };
    Some(date(day)? * DAY + time(clock)? - zone)
}

/// `+01:00`, in nanoseconds.
fn zone(text: &str) -> Option<i128> {
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let (hours, minutes) = text[1..].split_once(':')?;
    let minutes = two(hours, 14)? * 60 + two(minutes, 59)?;
    (minutes <= 14 * 60).then_some(sign * minutes * 60 * SECOND)
}

/// `2002-05-30`, as days since 1970, in the calendar of today for all years.
fn date(text: &str) -> Option<i128> {
    let (sign, digits) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    let mut parts = digits.split('-');
    let (year, month, day) = (parts.next()?, two(parts.next()?, 12)?, two(parts.next()?, 31)?);
    let is_padded = year.len() == 4 || year.len() > 4 && !year.starts_with('0');
    if parts.next().is_some() || !is_padded || year.len() > 9 {
        return None;
    }
    let year = sign * number(year)?;
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let most = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    };
    if month == 0 || day == 0 || day > most {
        return None;
    }
    // A year that begins in March has its leap day at the end.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * month + 2) / 5 + day - 1;
    Some(era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468)
}

/// `09:30:10.5`, in nanoseconds since midnight; `24:00:00` is the end of the day.
fn time(text: &str) -> Option<i128> {
    let mut parts = text.split(':');
    let (hours, minutes, seconds) = (two(parts.next()?, 24)?, two(parts.next()?, 59)?, parts.next()?);
    let whole = seconds.split('.').next().filter(|whole| two(whole, 59).is_some());
    if parts.next().is_some() || whole.is_none() {
        return None;
    }
    let time = (hours * 60 + minutes) * 60 * SECOND + fraction(seconds)?;
    (time <= DAY).then_some(time)
}

/// `-P1DT2H3M4.5S`, in nanoseconds.
fn day_time(text: &str) -> Option<i128> {
    let (sign, rest) = signed(text)?;
    let (days, clock) = match rest.split_once('T') {
        Some((days, clock)) if !clock.is_empty() => (days, clock),
        Some(_) => return None,
        None => (rest, ""),
    };
    let (days, rest) = part(days, 'D')?;
    let (hours, clock) = part(clock, 'H')?;
    let (minutes, clock) = part(clock, 'M')?;
    let seconds = if clock.is_empty() { 0 } else { fraction(clock.strip_suffix('S')?)? };
    let whole = (days * 24 + hours) * 60 + minutes;
    rest.is_empty().then_some(sign * (whole * 60 * SECOND + seconds))
}

/// `P1Y2M`, in months.
fn year_month(text: &str) -> Option<i128> {
    let (sign, rest) = signed(text)?;
    let (years, rest) = part(rest, 'Y')?;
    let (months, rest) = part(rest, 'M')?;
    rest.is_empty().then_some(sign * (years * 12 + months))
}

/// The sign of a duration, and what is behind its `P`, which is not nothing.
fn signed(text: &str) -> Option<(i128, &str)> {
    let (sign, rest) = text.strip_prefix('-').map_or((1, text), |rest| (-1, rest));
    Some((sign, rest.strip_prefix('P')?)).filter(|(_, rest)| !rest.is_empty())
}

/// The number before a letter, and what is behind it; 0 and everything if the letter is not there.
fn part(text: &str, letter: char) -> Option<(i128, &str)> {
    match text.split_once(letter) {
        Some((digits, rest)) => Some((number(digits)?, rest)),
        None => Some((0, text)),
    }
}

/// Seconds with at most nine digits behind the point, in nanoseconds.
fn fraction(text: &str) -> Option<i128> {
    let (whole, digits) = text.split_once('.').unwrap_or((text, "0"));
    let kept = digits.trim_end_matches('0');
    if digits.is_empty() || kept.len() > 9 {
        return None;
    }
    let nanoseconds = if kept.is_empty() { 0 } else { number(kept)? * 10i128.pow(9 - kept.len() as u32) };
    Some(number(whole)? * SECOND + nanoseconds)
}

/// Two digits, up to a number.
fn two(text: &str, most: i128) -> Option<i128> {
    number(text).filter(|&number| text.len() == 2 && number <= most)
}

/// Decimal digits, of which no field holds more.
fn number(text: &str) -> Option<i128> {
    let is_one = !text.is_empty() && text.len() <= 18 && text.bytes().all(|byte| byte.is_ascii_digit());
    is_one.then(|| text.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const MOMENT: &str = "ns since 1970-01-01T00:00:00Z";
    const DATE: &str = "d since 1970-01-01";

    #[test]
    fn texts_are_the_integers_of_their_units() {
        for (unit, text, number) in [
            (MOMENT, "1970-01-01T00:00:00Z", 0),
            (MOMENT, "1970-01-01T00:00:00", 0),
            (MOMENT, "1970-01-01T01:00:00+01:00", 0),
            (MOMENT, "1969-12-31T23:59:59.999999999Z", -1),
            (MOMENT, "2026-11-23T12:00:00.5-02:30", 1_795_444_200_500_000_000),
            (MOMENT, "2000-02-28T24:00:00Z", 951_782_400_000_000_000),
            (DATE, "1970-01-02", 1),
            (DATE, "2000-02-29Z", 11_016),
            (DATE, "-0001-01-01", -719_893),
            ("ns", "00:00:01.25", 1_250_000_000),
            ("ns", "PT1.25S", 1_250_000_000),
            ("ns", "-P1DT2H3M4S", -93_784_000_000_000),
            ("ns", "P2D", 172_800_000_000_000),
            ("months", "P1Y2M", 14),
            ("months", "-P3M", -3),
        ] {
            assert_eq!(in_unit(unit, text), Some(number), "{text}");
        }
    }

    #[test]
    fn integers_are_written_as_texts_that_mean_them() {
        for (lexical, number, text) in [
            (Lexical::DateTime, 0, "1970-01-01T00:00:00Z"),
            (Lexical::DateTime, -1, "1969-12-31T23:59:59.999999999Z"),
            (Lexical::DateTime, 1_795_444_200_500_000_000, "2026-11-23T14:30:00.5Z"),
            (Lexical::Date, 11_016, "2000-02-29"),
            (Lexical::Date, -719_893, "-0001-01-01"),
            (Lexical::Date, -719_528, "0000-01-01"),
            (Lexical::Time, 1_250_000_000, "00:00:01.25"),
            (Lexical::DayTime, 0, "PT0S"),
            (Lexical::DayTime, -93_784_000_000_000, "-P1DT2H3M4S"),
            (Lexical::DayTime, 172_800_000_000_000, "P2D"),
            (Lexical::DayTime, 1, "PT0.000000001S"),
            (Lexical::YearMonth, 14, "P1Y2M"),
            (Lexical::YearMonth, 0, "P0M"),
            (Lexical::YearMonth, -24, "-P2Y"),
        ] {
            assert_eq!(write(lexical, number).as_deref(), Some(text), "{number}");
            assert_eq!(read(lexical, text), Some(number), "{text}");
        }
        for (months, time, text) in [
            (0, 0, "PT0S"),
            (14, 93_784_500_000_000, "P1Y2M1DT2H3M4.5S"),
            (-1, -DAY, "-P1M1D"),
            (12, 0, "P1Y"),
            (0, 60 * SECOND, "PT1M"),
            (1, 60 * SECOND, "P1MT1M"),
        ] {
            assert_eq!(write_duration(months, time).as_deref(), Some(text));
            assert_eq!(read_duration(text), Some((months, time)), "{text}");
        }
        assert_eq!((write_duration(1, -1), write(Lexical::Time, DAY), write(Lexical::Time, -1)), (None, None, None));
        for text in ["P", "PT", "P1YT", "P1DT", "P1D1M", "1Y", "PT1Y", "P1H"] {
            assert_eq!(read_duration(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_integer_of_a_record_survives(long: i64, int: i32, time in 0..DAY as i64) {
            for (lexical, number) in [
                (Lexical::DateTime, i128::from(long)), (Lexical::DayTime, long.into()), (Lexical::Time, time.into()),
                (Lexical::Date, int.into()), (Lexical::YearMonth, int.into()),
            ] {
                let text = write(lexical, number).unwrap();
                prop_assert_eq!(read(lexical, &text), Some(number), "{}", text);
            }
            let time = i128::from(long).abs() * i128::from(int.signum());
            let text = write_duration(int.into(), time).unwrap();
            prop_assert_eq!(read_duration(&text), Some((int.into(), time)), "{}", text);
        }
    }

    #[test]
    fn what_is_no_such_text_means_nothing() {
        for (unit, text) in [
            (MOMENT, "1970-01-01"),
            (MOMENT, "1970-01-01T24:00:01Z"),
            (MOMENT, "1970-01-01T00:00:00+15:00"),
            (MOMENT, "1970-01-01T00:00:00.0000000001Z"),
            (MOMENT, "T"),
            (DATE, "1970-1-1"),
            (DATE, "1900-02-29"),
            (DATE, "70-01-01"),
            (DATE, "01970-01-01"),
            (DATE, "1970-00-10"),
            (DATE, "--"),
            ("ns", "24:00:00"),
            ("ns", "12:60:00"),
            ("ns", "1:00:00"),
            ("ns", "P"),
            ("ns", "PT"),
            ("ns", "P1Y"),
            ("ns", "PT1M1H"),
            ("ns", "PT9999999999999999999S"),
            ("months", "P1D"),
            ("months", "P"),
            ("m", "P1M"),
        ] {
            assert_eq!(in_unit(unit, text), None, "{text}");
        }
    }
}
