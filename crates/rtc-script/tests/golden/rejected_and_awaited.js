const late = Promise.reject(new Error("late"));
const soon = async () => { throw 1 };
const [one] = await Promise.allSettled([soon()]);
late.catch(() => {});
one.reason
