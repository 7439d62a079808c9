// The thread that writes one label list, with its own connection.
import { serveThread, threadStart } from '#runtime/worker-thread.ts'
import { openState } from '#storage/open.ts'
import { type ListInput, type StateLocation, writeList } from './write-list.ts'

const { dir, options } = threadStart<StateLocation>()

serveThread({
  write: async (input: ListInput) => {
    const state = await openState(dir, options)
    try {
      return { value: await writeList(state, input) }
    } finally {
      await state.close()
    }
  },
})
