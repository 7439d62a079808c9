// npx and npm scripts start a command through `sh -c`. npm forwards SIGTERM and SIGINT to that shell only, and the
// shell ends without forwarding them, so the command would run on. The one thing it can observe is that its parent
// process is gone. Plain JavaScript that Node 20 understands, because the launcher uses it.

const periodMs = 200
const parent = process.ppid
const background = /[^&>]&([^&]|$)/

/**
 * Calls `action` once if the shell that npm started this command in ends. Returns a function that stops watching.
 * Does nothing outside npm, nor in a script that starts a process in the background: there the shell ends first.
 */
export function watchParent(action) {
  const script = process.env.npm_lifecycle_script ?? ''
  if (!script.includes('tetrad') || background.test(script)) return () => {}
  let isGone = false
  const timer = setInterval(() => {
    // Acts one period after the parent is gone: a signal to the whole process group is handled first.
    if (isGone) {
      clearInterval(timer)
      action()
    }
    isGone = process.ppid !== parent
  }, periodMs)
  timer.unref()
  return () => clearInterval(timer)
}
