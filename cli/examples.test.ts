import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Command } from 'commander'
import { buildProgram } from './main.ts'

const program = await buildProgram(['ask'], false)
const found: { readonly path: string; readonly command: Command }[] = []
const collect = (command: Command, path: string) => {
  for (const child of command.commands) {
    const childPath = `${path}${child.name()}`
    found.push({ path: childPath, command: child })
    collect(child, `${childPath} `)
  }
}
collect(program, '')

function helpOf(command: Command): string {
  let text = ''
  command.configureOutput({ writeOut: (part) => (text += part) })
  command.outputHelp()
  return text
}

/** As a shell splits a line, without what follows a redirection or a pipe. */
const wordsOf = (line: string): string[] =>
  [...(line.split(/ [>|] /)[0] ?? '').matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, word]) => quoted ?? word ?? '')

describe('the help of every command ends with examples', () => {
  for (const { path, command } of found) {
    test(`tetrad ${path}`, () => {
      const lines = [...helpOf(command).matchAll(/^ {2}\$ (tetrad .*)$/gm)].map(([, line = '']) => line)
      assert.ok(lines.length > 0, 'no example')
      assert.equal(new Set(lines).size, lines.length, 'an example is shown twice')
      for (const line of lines) checkLine(line)
    })
  }
})

/** Fails for an unknown command or option, and for a missing argument or option. */
function checkLine(line: string): void {
  let [command, [, ...words]] = [program, wordsOf(line)]
  for (let next: Command | undefined; ; words = words.slice(1), command = next) {
    next = command.commands.find((child) => child.name() === words[0])
    if (!next) break
  }
  assert.equal(command.commands.length, 0, `${line}: ${words[0]} is not a command`)
  const { operands, unknown } = command.parseOptions(words)
  const common = unknown.filter((word) => word.startsWith('-') && !['--config', '--data', '--json'].includes(word))
  assert.deepEqual(common, [], `${line}: unknown options`)
  const required = command.registeredArguments.filter((argument) => argument.required).length
  assert.ok(operands.length >= required, `${line}: an argument is missing`)
  const isVariadic = command.registeredArguments.some((argument) => argument.variadic)
  assert.ok(isVariadic || operands.length <= command.registeredArguments.length, `${line}: too many arguments`)
  for (const option of command.options.filter(({ mandatory }) => mandatory))
    assert.ok(words.includes(option.long ?? ''), `${line}: ${option.long} is missing`)
}
