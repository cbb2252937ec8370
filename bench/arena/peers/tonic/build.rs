fn main() -> std::io::Result<()> {
    let protos = ["benchmark.proto", "helloworld.proto", "samples_api.proto"];
    tonic_prost_build::configure()
        .build_client(false)
        .compile_protos(&protos.map(|name| format!("proto/{name}")), &["proto".to_string()])
}
