// Runs test files with every test context on a PostgreSQL server (see test/context.ts).
import { strict as assert } from 'node:assert'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

const serverDir = join(import.meta.dirname, '../server')

/** `names` are paths from server/, without `.test.ts`. Tests whose name matches `skip` are skipped. */
export async function passOnPostgres(url: string, names: readonly string[], skip?: RegExp): Promise<void> {
  const { NODE_TEST_CONTEXT: _, ...env } = process.env
  const files = names.map((name) => join(serverDir, `${name}.test.ts`))
  // The test runner ignores a name that matches no file.
  assert.deepEqual(
    files.filter((file) => !existsSync(file)),
    [],
  )
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
