//! A series of many points as one of fewer that looks the same.

/// At most `most` of the points, in their order: the first and the last of the series, and of each stretch of it the
/// lowest and the highest, so that no peak is lost. `points` are (time, value), by time. `most` is 4 at least.
pub fn thin(points: &[(f64, f64)], most: usize) -> Vec<(f64, f64)> {
    let most = most.max(4);
    if points.len() <= most {
        return points.to_vec();
    }
    let (first, inner, last) = (points[0], &points[1..points.len() - 1], points[points.len() - 1]);
    let stretches = (most - 2) / 2;
    let mut kept = vec![first];
    for stretch in 0..stretches {
        let from = inner.len() * stretch / stretches;
        let part = &inner[from..inner.len() * (stretch + 1) / stretches];
        let by_value = |a: &&(f64, f64), b: &&(f64, f64)| a.1.total_cmp(&b.1);
        if let (Some(low), Some(high)) = (part.iter().min_by(by_value), part.iter().max_by(by_value)) {
            let pair = if low.0 <= high.0 { [low, high] } else { [high, low] };
            kept.extend(if low == high { &pair[..1] } else { &pair[..] }.iter().map(|point| **point));
        }
    }
    kept.push(last);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peak_and_both_ends_are_kept_in_order() {
        let mut points: Vec<(f64, f64)> = (0..10_000).map(|i| (f64::from(i), f64::from(i % 7))).collect();
        points[4321].1 = 99.0;
        points[7000].1 = -5.0;
        let kept = thin(&points, 100);
        assert!(kept.len() <= 100);
        assert!(kept.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(kept.contains(&(4321.0, 99.0)) && kept.contains(&(7000.0, -5.0)));
        assert_eq!((kept[0].0, kept[kept.len() - 1].0), (0.0, 9999.0));
    }

    #[test]
    fn few_points_stay_as_they_are() {
        assert_eq!(thin(&[(0.0, 1.0), (1.0, 2.0)], 4), [(0.0, 1.0), (1.0, 2.0)]);
    }
}
