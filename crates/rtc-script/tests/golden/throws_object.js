throw { code: 7, get text() { return "made"; } };
