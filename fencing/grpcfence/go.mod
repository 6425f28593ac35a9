module github.com/zkfence/zkfence/fencing/grpcfence

go 1.25.0

replace github.com/zkfence/zkfence => ../../

require (
	github.com/stretchr/testify v1.12.1
	github.com/zkfence/zkfence v0.0.0
	go.uber.org/goleak v1.3.0
	google.golang.org/genproto/googleapis/rpc v0.0.0-20260120221211-b8f7ae30c516
	google.golang.org/grpc v1.80.0
	google.golang.org/protobuf v1.36.11
)

require (
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/net v0.49.0 // indirect
	golang.org/x/sys v0.40.0 // indirect
	golang.org/x/text v0.33.0 // indirect
)
