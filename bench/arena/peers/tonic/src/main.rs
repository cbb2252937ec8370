//! Services of the arenas with tonic: arena PORT
use tonic::{async_trait, transport::Server, Request, Response, Status};

mod benchmark {
    tonic::include_proto!("benchmark");
}
mod helloworld {
    tonic::include_proto!("helloworld");
}
mod api {
    tonic::include_proto!("api");
}

struct Services;

#[async_trait]
impl benchmark::benchmark_service_server::BenchmarkService for Services {
    async fn get_sum(&self, request: Request<benchmark::SumRequest>) -> Result<Response<benchmark::SumReply>, Status> {
        let benchmark::SumRequest { a, b } = request.into_inner();
        Ok(Response::new(benchmark::SumReply { result: a + b }))
    }
}

#[async_trait]
impl helloworld::greeter_server::Greeter for Services {
    async fn say_hello(
        &self,
        request: Request<helloworld::HelloRequest>,
    ) -> Result<Response<helloworld::HelloReply>, Status> {
        Ok(Response::new(helloworld::HelloReply { response: request.into_inner().request }))
    }
}

#[async_trait]
impl api::greeter_server::Greeter for Services {
    async fn say_hello(&self, request: Request<api::HelloRequest>) -> Result<Response<api::User>, Status> {
        let name = format!("Hello {}", request.into_inner().name);
        Ok(Response::new(api::User { name, id: "12345".into(), age: 21 }))
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let port = std::env::args().nth(1).expect("a port");
    Server::builder()
        .add_service(benchmark::benchmark_service_server::BenchmarkServiceServer::new(Services))
        .add_service(helloworld::greeter_server::GreeterServer::new(Services))
        .add_service(api::greeter_server::GreeterServer::new(Services))
        .serve(format!("127.0.0.1:{port}").parse()?)
        .await?;
    Ok(())
}
