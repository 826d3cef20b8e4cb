//! Export of traces to the OpenTelemetry collector at `OTEL_EXPORTER_OTLP_ENDPOINT`.

#[cfg(feature = "otel")]
pub(super) use with::TraceExport;

#[cfg(not(feature = "otel"))]
pub(super) use without::TraceExport;

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

    /// The standard environment variables for the address of the collector.
    const VARIABLES: [&str; 2] =
        ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

    /// Exports spans until it is dropped, which sends the last of them.
    pub(crate) struct TraceExport(Option<SdkTracerProvider>);

    impl TraceExport {
        pub(crate) fn start() -> anyhow::Result<TraceExport> {
            if VARIABLES.iter().all(|name| std::env::var_os(name).is_none()) {
                return Ok(TraceExport(None));
            }
            let exporter = SpanExporter::builder().with_http().build();
            let exporter =
                exporter.context("cannot export traces to OTEL_EXPORTER_OTLP_ENDPOINT")?;
            let name = Resource::builder().with_service_name("tollgate").build();
            let provider = SdkTracerProvider::builder().with_resource(name);
            Ok(TraceExport(Some(provider.with_batch_exporter(exporter).build())))
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

    impl Drop for TraceExport {
        fn drop(&mut self) {
            // The server must stop even if the collector is gone.
            let _ = self.0.take().map(|provider| provider.shutdown());
        }
    }
}

#[cfg(not(feature = "otel"))]
mod without {
    use tracing_subscriber::layer::Identity;

    /// Does nothing: built without the feature `otel`.
    pub(crate) struct TraceExport;

    impl TraceExport {
        #[expect(clippy::unnecessary_wraps, reason = "fails with the feature `otel`")]
        pub(crate) fn start() -> anyhow::Result<TraceExport> {
            Ok(TraceExport)
        }

        pub(crate) fn layer(&self) -> Identity {
            Identity::new()
        }
    }
}
