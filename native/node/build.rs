//! Link flags that a Node-API module needs on each platform.
fn main() {
    napi_build::setup();
}
