//! A response, whatever version of the protocol carries it.

/// A response. One value is filled again and again.
#[derive(Debug, Default)]
pub(super) struct Response {
    pub(super) status: u16,
    pub(super) content_type: &'static str,
    pub(super) fields: Vec<(&'static str, String)>,
    pub(super) body: String,
}

impl Response {
    /// Starts a new response.
    pub(super) fn begin(&mut self, status: u16, content_type: &'static str) {
        self.status = status;
        self.content_type = content_type;
        self.fields.clear();
        self.body.clear();
    }

    pub(super) fn field(&mut self, name: &'static str, value: &str) {
        self.fields.push((name, value.to_owned()));
    }
}
