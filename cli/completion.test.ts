import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { plans } from '#api/contract/routes.ts'
import { isInstalled } from '#test/programs.ts'
import { openFolder, runCommand } from '#test/run-command.ts'
import { listPositions } from './completion.ts'
import { buildProgram } from './main.ts'

const noShell = (shell: string) => !isInstalled(shell, '--version') && `the program \`${shell}\` is not installed`

async function scriptOf(shell: string): Promise<string> {
  await using home = await openFolder()
  const { code, stdout, stderr } = await runCommand(['completion', shell], { cwd: home.dir })
  assert.equal(code, 0, stderr)
  return stdout
}

describe('tetrad completion bash', { skip: noShell('bash') }, () => {
  /** What bash proposes for each line; the last word is the one before the cursor. */
  async function complete(lines: readonly (readonly string[])[]): Promise<string[][]> {
    const calls = lines.map((words) => {
      const list = ['tetrad', ...words].map((word) => `'${word}'`).join(' ')
      return `COMP_WORDS=(${list}); COMP_CWORD=${words.length}; COMPREPLY=(); _tetrad; echo "\${COMPREPLY[*]}"`
    })
    const { status, stdout, stderr } = spawnSync('bash', ['--norc', '-s'], {
      input: `${await scriptOf('bash')}\n${calls.join('\n')}\n`,
      encoding: 'utf8',
    })
    assert.deepEqual([status, stderr], [0, ''])
    return stdout
      .trimEnd()
      .split('\n')
      .map((line) => line.split(' ').filter(Boolean))
  }

  test('proposes commands, options and the choices of a value', async () => {
    const [commands, created, planned, flags, shells, endpoints, port] = await complete([
      ['ke'],
      ['keys', 'cr'],
      ['keys', 'create', '--plan', ''],
      ['keys', 'create', '--name', 'ci', '--e'],
      ['completion', ''],
      ['ask', 'explorer.f'],
      ['--config', 'own.yaml', 'serve', '--po'],
    ])
    assert.deepEqual(commands, ['keys'])
    assert.deepEqual(created, ['create'])
    assert.deepEqual(planned, [...plans])
    assert.deepEqual(flags, ['--expires'])
    assert.deepEqual(shells, ['bash', 'zsh', 'fish'])
    assert.deepEqual(endpoints, ['explorer.fundedBy', 'explorer.fundings'])
    assert.deepEqual(port, ['--port'])
  })

  test('proposes nothing of its own for a value without choices, so that bash completes files', async () => {
    assert.deepEqual(await complete([['backup', ''], ['serve', '--config', ''], ['keys']]), [[], [], ['keys']])
    assert.match(await scriptOf('bash'), /^complete -o default -F _tetrad tetrad$/m)
  })

  test('proposes every subcommand and every option of every command', async () => {
    const positions = listPositions(await buildProgram(['ask'], false))
    assert.ok(positions.length > 60, String(positions.length))
    const lines = positions.flatMap(({ path }) => {
      const words = path === '' ? [] : path.split(' ')
      return [
        [...words, ''],
        [...words, '-'],
      ]
    })
    // A line that is empty would be lost at the end.
    const proposed = await complete([...lines, ['ke']])
    for (const [at, { path, words, options }] of positions.entries()) {
      const texts = (list: readonly { readonly text: string }[]) => list.map(({ text }) => text)
      assert.deepEqual(proposed[2 * at], texts(words), path)
      assert.deepEqual(proposed[2 * at + 1], texts(options), path)
      assert.ok(texts(options).includes('--json') && texts(options).includes('--help'), path)
    }
  })
})

for (const shell of ['zsh', 'fish'])
  test(`the script for ${shell} has no syntax error`, { skip: noShell(shell) }, async () => {
    await using home = await openFolder()
    await writeFile(join(home.dir, 'script'), await scriptOf(shell))
    const { status, stderr } = spawnSync(shell, ['-n', join(home.dir, 'script')], { encoding: 'utf8' })
    assert.deepEqual([status, stderr], [0, ''])
  })

test('2: another shell is refused, with the ones that are supported', async () => {
  await using home = await openFolder()
  const { code, stderr } = await runCommand(['completion', 'tcsh'], { cwd: home.dir })
  assert.equal(code, 2)
  assert.match(stderr, /Allowed choices are bash, zsh, fish/)
})
