//! Traces for a collector of OpenTelemetry, where `OTEL_EXPORTER_OTLP_ENDPOINT` says one is.

#[cfg(feature = "otel")]
pub(super) use with::Sending;

#[cfg(not(feature = "otel"))]
pub(super) use without::Sending;

#[cfg(feature = "otel")]
mod with {
    use anyhow::Context as _;
    use opentelemetry::trace::TracerProvider as _;
    use opentelemetry_otlp::SpanExporter;
    use opentelemetry_sdk::Resource;
    use opentelemetry_sdk::trace::SdkTracerProvider;
    use tracing::Subscriber;
    use tracing_subscriber::Layer;
    use tracing_subscriber::filter::LevelFilter;
    use tracing_subscriber::registry::LookupSpan;

    /// The variables that say where a collector is, as everybody's programs read them.
    const VARIABLES: [&str; 2] =
        ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

    /// Spans are sent while this is kept, and the last of them when it is dropped.
    pub(crate) struct Sending(Option<SdkTracerProvider>);

    impl Sending {
        pub(crate) fn begin() -> anyhow::Result<Sending> {
            if VARIABLES.iter().all(|name| std::env::var_os(name).is_none()) {
                return Ok(Sending(None));
            }
            let exporter = SpanExporter::builder().with_http().build();
            let exporter = exporter.context("cannot send traces where the environment says")?;
            let name = Resource::builder().with_service_name("tollgate").build();
            let provider = SdkTracerProvider::builder().with_resource(name);
            Ok(Sending(Some(provider.with_batch_exporter(exporter).build())))
        }

        pub(crate) fn layer<S>(&self) -> Option<impl Layer<S> + use<S>>
        where
            S: Subscriber + for<'a> LookupSpan<'a>,
        {
            let tracer = self.0.as_ref()?.tracer("tollgate");
            let layer = tracing_opentelemetry::layer().with_tracer(tracer);
            Some(layer.with_filter(LevelFilter::INFO))
        }
    }

    impl Drop for Sending {
        fn drop(&mut self) {
            // A collector that is gone must not keep the server from ending.
            let _ = self.0.take().map(|provider| provider.shutdown());
        }
    }
}

#[cfg(not(feature = "otel"))]
mod without {
    use tracing_subscriber::layer::Identity;

    /// Built without traces.
    pub(crate) struct Sending;

    impl Sending {
        #[expect(clippy::unnecessary_wraps, reason = "with traces it can fail")]
        pub(crate) fn begin() -> anyhow::Result<Sending> {
            Ok(Sending)
        }

        pub(crate) fn layer(&self) -> Identity {
            Identity::new()
        }
    }
}
