module github.com/zkfence/zkfence

go 1.25.0
