//! Memory that the BPF programs write, or read, while this program does.

/// What is there now: a plain read could be one of long ago, as nothing here is seen to change it.
pub fn look<T: Copy>(place: &T) -> T {
    // A reference is valid, and these are integers.
    #[allow(unsafe_code)]
    unsafe {
        std::ptr::read_volatile(place)
    }
}

/// Has the programs see a value from now on, after all that was told them before.
pub fn tell<T: Copy>(place: &mut T, value: T) {
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
    #[allow(unsafe_code)]
    unsafe {
        std::ptr::write_volatile(place, value);
    }
    std::sync::atomic::fence(std::sync::atomic::Ordering::SeqCst);
}
