//! Day numbers in the proleptic Gregorian calendar.

const MILLISECONDS_PER_DAY: i64 = 86_400_000;

/// Days since 1970-01-01; `None` if there is no such date.
pub(super) fn days(year: i32, month: u32, day: u32) -> Option<i64> {
    if !(1..=12).contains(&month) || day == 0 || day > days_in(year, month) {
        return None;
    }
    // Counting years from March puts the leap day last.
    let year = i64::from(year) - i64::from(month <= 2);
    let month = i64::from((month + 9) % 12);
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_year = (153 * month + 2) / 5 + i64::from(day) - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

fn is_leap(year: i32) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i32, month: u32) -> u32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The day number of the nth day of a year, counted from 1.
pub(super) fn ordinal(year: i32, day: u32) -> Option<i64> {
    let length = if is_leap(year) { 366 } else { 365 };
    (1..=length).contains(&day).then(|| days(year, 1, 1).map(|first| first + i64::from(day) - 1))?
}

/// The day number of a day in an ISO week; 1 is Monday.
pub(super) fn week(year: i32, week: u32, day: u32) -> Option<i64> {
    if !(1..=53).contains(&week) || !(1..=7).contains(&day) {
        return None;
    }
    // January 4 is always in week 1.
    let fourth = days(year, 1, 4)?;
    let monday = fourth - (fourth + 3).rem_euclid(7);
    let found = monday + i64::from((week - 1) * 7 + day - 1);
    // Reject week 53 where it already belongs to the next year.
    let next_monday = days(year + 1, 1, 4).map(|fourth| fourth - (fourth + 3).rem_euclid(7))?;
    (found < next_monday).then_some(found)
}

pub(super) fn milliseconds(day: i64, time_of_day: i64) -> i64 {
    day * MILLISECONDS_PER_DAY + time_of_day
}
