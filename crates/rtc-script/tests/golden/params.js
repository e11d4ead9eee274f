// {"params": {"names": ["x", "y"], "deep": {"n": 1}}}
`${params.names.join("+")} ${params.deep.n}`
