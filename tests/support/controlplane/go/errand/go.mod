module dragoman.dev/controlplane/errand

go 1.24
