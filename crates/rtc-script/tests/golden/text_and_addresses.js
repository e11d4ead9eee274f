const bytes = new TextEncoder().encode("é漢");
const url = new URL("../b?x=1&y=a%20b#h", "https://user@example.org:8080/p/a/c");
url.searchParams.append("z", "ü +");
url.searchParams.delete("x");
url.port = "";
url.pathname = "/new path";
return {
  bytes: [...bytes],
  text: new TextDecoder().decode(bytes) + new TextDecoder("UTF-8").decode(bytes.buffer),
  clone: structuredClone({ a: [1, new Date(0)], m: new Map([[1, 2]]) }),
  base64: btoa("hi") + atob("aGk="),
  href: url.href,
  parts: [url.protocol, url.username, url.host, url.pathname, url.search, url.hash, url.origin],
  params: [...new URLSearchParams("?a=1&a=2&b=c+d").entries()],
  can: [URL.canParse("nothing"), URL.canParse("/x", "https://example.org")],
  wrong: (() => { try { return new URL("nothing"); } catch (error) { return `${error}`; } })(),
  sorted: ["b", "a"].toSorted(),
};
