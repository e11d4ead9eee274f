const name = "x";
`a;
${name};
b`
