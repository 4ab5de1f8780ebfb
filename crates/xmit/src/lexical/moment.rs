//! Times and durations as XML Schema and JSON Schema write them, and the integers that they are in records (`spec/xmit.md`,
//! "Simple types").

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
