// Runs test files once more, with every context of theirs on a PostgreSQL server (test/context.ts).
import { strict as assert } from 'node:assert'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'

const groups = join(import.meta.dirname, '..', 'server', 'groups')

/** `names` are paths from server/groups. `skip` leaves out tests whose name it matches. */
export async function passOnPostgres(url: string, names: readonly string[], skip?: RegExp): Promise<void> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const files = names.map((name) => join(groups, `${name}.test.ts`))
  const options = ['--test-isolation=none', '--test-reporter=tap', ...(skip ? [`--test-skip-pattern=${skip}`] : [])]
  const child = spawn(process.execPath, ['--test', ...options, ...files], {
    env: { ...env, TETRAD_TEST_STATE: url },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  const [code] = await once(child, 'close')
  const failures = output.split('\n').filter((line) => /not ok|error:|expected:|actual:/.test(line))
  assert.equal(code, 0, failures.join('\n'))
  assert.match(output, /# pass [1-9]\d/)
}
