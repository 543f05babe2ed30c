/// Seconds in so many minutes.
pub fn seconds(minutes: u32) -> u32 {
    minutes * 60
}

#[cfg(test)]
mod tests {
    #[test]
    fn an_hour_has_3600_seconds() {
        assert_eq!(super::seconds(60), 3600);
    }
}
