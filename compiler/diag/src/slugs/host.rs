//! Slugs of the stage `host`.

crate::slug::slugs! { "host":
    CANNOT_READ = "cannot-read";
    CANNOT_WRITE = "cannot-write";
    CREDENTIALS_UNREADABLE = "credentials-unreadable";
}
