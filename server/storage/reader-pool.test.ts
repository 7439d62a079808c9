import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createReaderPool } from './reader-pool.ts'

/** Work that ends on request and records its start. */
function jobs() {
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const job = (name: string) => async (counter: string) => {
    begun.push(`${name} at ${counter}`)
    await new Promise<void>((resolve) => ends.set(name, resolve))
    return name
  }
  const settled = () => new Promise((resolve) => setImmediate(resolve))
  return { begun, job, end: (name: string) => ends.get(name)?.(), settled }
}

test('a long job occupies one reader, and other jobs use the other readers', async () => {
  const { begun, job, end, settled } = jobs()
  const line = createReaderPool('x', ['a', 'b'], 10)
  const done = ['long', 'one', 'two', 'three'].map((name) => line.run(job(name)))
  for (const name of ['one', 'two', 'three']) {
    await settled()
    end(name)
  }
  assert.deepEqual(await Promise.all(done.slice(1)), ['one', 'two', 'three'])
  assert.deepEqual(begun, ['long at b', 'one at a', 'two at a', 'three at a'])
  end('long')
  assert.equal(await done[0], 'long')
})

test('a job aborted before its start does not run; one that has started continues', async () => {
  const { begun, job, end, settled } = jobs()
  const line = createReaderPool('x', ['a'], 10)
  const [first, second] = [new AbortController(), new AbortController()]
  const running = line.run(job('running'), first.signal)
  const gone = line.run(job('gone'), second.signal)
  const patient = line.run(job('patient'))
  const reason = new Error('nobody waits')
  second.abort(reason)
  first.abort(reason)
  await assert.rejects(gone, reason)
  await assert.rejects(line.run(job('late'), second.signal), reason)
  end('running')
  assert.equal(await running, 'running')
  await settled()
  end('patient')
  assert.equal(await patient, 'patient')
  assert.deepEqual(begun, ['running at a', 'patient at a'])
})

test('the queue is limited, and aborted jobs leave it', async () => {
  const { job, end, settled } = jobs()
  const line = createReaderPool('x', ['a'], 1)
  const running = line.run(job('running'))
  const leaving = new AbortController()
  const gone = line.run(job('gone'), leaving.signal)
  await assert.rejects(line.run(job('too many')), { code: 'store.unavailable' })
  leaving.abort(new Error('gone'))
  await assert.rejects(gone)
  const next = line.run(job('next'))
  end('running')
  await running
  await settled()
  end('next')
  assert.equal(await next, 'next')
})

test('closing waits for accepted jobs and refuses new ones; failed jobs release their reader', async () => {
  const { job, end, settled } = jobs()
  const line = createReaderPool('x', ['a'], 10)
  await assert.rejects(
    line.run(() => Promise.reject(new Error('failed'))),
    /failed/,
  )
  const taken = ['one', 'two'].map((name) => line.run(job(name)))
  let isClosed = false
  const closing = line.close().then(() => {
    isClosed = true
  })
  await assert.rejects(line.run(job('late')), { code: 'store.unavailable' })
  for (const name of ['one', 'two']) {
    await settled()
    assert.equal(isClosed, false)
    end(name)
  }
  assert.deepEqual(await Promise.all(taken), ['one', 'two'])
  await closing
  await createReaderPool('x', ['a'], 1).close()
})
