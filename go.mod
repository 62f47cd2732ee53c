module espalier.dev/espalier

go 1.24
