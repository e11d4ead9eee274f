throw { get bad() { throw new Error("no"); } };
