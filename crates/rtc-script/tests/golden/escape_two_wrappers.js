}} console.log("ran"); {async function script() {
