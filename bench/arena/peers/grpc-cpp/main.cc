// Services of the arenas with the callback API of gRPC C++: main PORT
#include <grpcpp/grpcpp.h>

#include <string>

#include "benchmark.grpc.pb.h"
#include "helloworld.grpc.pb.h"
#include "samples_api.grpc.pb.h"

using grpc::CallbackServerContext;
using grpc::ServerUnaryReactor;

static ServerUnaryReactor* finish(CallbackServerContext* context) {
  auto* reactor = context->DefaultReactor();
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

class Sum final : public benchmark::BenchmarkService::CallbackService {
  ServerUnaryReactor* GetSum(CallbackServerContext* context, const benchmark::SumRequest* request,
                             benchmark::SumReply* reply) override {
    reply->set_result(request->a() + request->b());
    return finish(context);
  }
};

class Hello final : public helloworld::Greeter::CallbackService {
  ServerUnaryReactor* SayHello(CallbackServerContext* context, const helloworld::HelloRequest* request,
                               helloworld::HelloReply* reply) override {
    *reply->mutable_response() = request->request();
    return finish(context);
  }
};

class Greeter final : public api::Greeter::CallbackService {
  ServerUnaryReactor* SayHello(CallbackServerContext* context, const api::HelloRequest* request,
                               api::User* user) override {
    user->set_name("Hello " + request->name());
    user->set_id("12345");
    user->set_age(21);
    return finish(context);
  }
};

int main(int, char** argv) {
  Sum sum;
  Hello hello;
  Greeter greeter;
  grpc::ServerBuilder builder;
  builder.AddListeningPort(std::string("127.0.0.1:") + argv[1], grpc::InsecureServerCredentials());
  builder.RegisterService(&sum);
  builder.RegisterService(&hello);
  builder.RegisterService(&greeter);
  builder.BuildAndStart()->Wait();
}
