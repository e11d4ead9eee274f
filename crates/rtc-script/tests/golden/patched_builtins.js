JSON.stringify = () => "fooled";
JSON.parse = () => ({});
Array.prototype.map = () => ["fooled"];
Object.entries = () => [];
Promise.prototype.then = undefined;
return { a: 1, list: [1, 2] };
