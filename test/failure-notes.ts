// What a reader needs to know about the process if one of its tests fails. Test helpers add lines. test/batch.ts adds them
// to its failures; if a file runs on its own, they are printed at the end.
export const failureNotes: Set<string> = new Set()

process.on('exit', (code) => {
  if (code !== 0) for (const note of failureNotes) console.error(note)
})
