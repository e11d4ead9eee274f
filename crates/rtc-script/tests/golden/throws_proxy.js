const refuse = () => { throw new Error("no"); };
throw new Proxy({}, { get: refuse, ownKeys: refuse, getPrototypeOf: refuse, has: refuse });
