const forgotten = async () => {
  throw new Error("nobody looks");
};
forgotten();
"done"
