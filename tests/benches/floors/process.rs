//! What the system says about a process.

use std::process::Command;

/// Resident memory in megabytes of 10⁶ bytes, by `ps`, which every Unix has, or by `/proc`.
pub fn resident_mb(pid: u32) -> f64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let from_proc = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|text| text.trim().trim_end_matches(" kB").parse::<f64>().ok());
    let from_ps = || {
        let listing = Command::new("ps")
            .args(["-o", "rss=", "-p", &pid.to_string()])
            .output()
            .unwrap();
        let text = String::from_utf8(listing.stdout).unwrap();
        text.trim().parse::<f64>().unwrap()
    };
    from_proc.unwrap_or_else(from_ps) * 1024.0 / 1e6
}
