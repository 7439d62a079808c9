import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CommandFailure, describeFailure } from './failure.ts'

test('error messages contain only the public part of a key', () => {
  const key = `tetrad:abc:${'s'.repeat(43)}`
  assert.equal(describeFailure(new CommandFailure('x', `no ${key} here`)).message, 'no tetrad:abc:… here')
})

test('errors of listening say what to do', () => {
  const listenError = (code: string) =>
    Object.assign(new Error('x'), { code, syscall: 'listen', address: '::1', port: 80 })
  assert.match(
    describeFailure(listenError('EADDRINUSE')).message,
    /^::1:80 is in use by another program\. Choose another port with --port/,
  )
  assert.match(describeFailure(listenError('EACCES')).message, /Choose a port above 1023/)
  assert.match(describeFailure(listenError('EADDRNOTAVAIL')).message, /Choose one with --host/)
  const unknown = Object.assign(new Error('x'), { code: 'ENOTFOUND', syscall: 'getaddrinfo', hostname: 'no.where' })
  assert.match(describeFailure(unknown).message, /^no\.where cannot be resolved\. Choose another host with --host/)
})
