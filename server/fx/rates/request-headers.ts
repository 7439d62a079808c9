// Headers of requests to rate sources. Their values come from environment variables or files, and are secret: errors name
// the variable or the file, and nothing stores, logs or reports a value.
import type { Environment } from '#runtime/environment.ts'
import { readTextFile } from '#runtime/read-text-file.ts'
import type { SourceHeader } from '#runtime/settings/fx-documents.ts'

const valueBytesMax = 16_384
/** Shorter values occur in documents by chance. */
const secretCharsMin = 8
/** What HTTP allows in a header, in ASCII. */
const valuePattern = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/

/** Read with every request, so that a file can be replaced while the server runs. */
export async function readHeaders(
  headers: readonly SourceHeader[],
  env: Environment,
): Promise<{ readonly headers: Readonly<Record<string, string>>; readonly secrets: readonly string[] }> {
  const values = await Promise.all(headers.map((header) => readValue(header, env)))
  return {
    headers: Object.fromEntries(headers.map(({ name, prefix }, at) => [name.toLowerCase(), `${prefix}${values[at]}`])),
    secrets: values.filter(({ length }) => length >= secretCharsMin),
  }
}

async function readValue({ name, env: variable, file = '' }: SourceHeader, env: Environment): Promise<string> {
  const place = variable === undefined ? `the file ${file}` : `the environment variable ${variable}`
  const text = variable === undefined ? await readTextFile(file, valueBytesMax) : env[variable]
  if (text === undefined) throw new Error(`the header ${name} has no value: ${place} is not set`)
  const value = text.trim()
  if (value === '') throw new Error(`the header ${name} has no value: ${place} is empty`)
  if (!valuePattern.test(value))
    throw new Error(`the header ${name} cannot be sent: ${place} has characters that a header must not have`)
  return value
}
