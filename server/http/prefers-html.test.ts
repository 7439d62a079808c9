import assert from 'node:assert/strict'
import { test } from 'node:test'
import { prefersHtml } from './prefers-html.ts'

test('browsers prefer HTML', () => {
  for (const accept of [
    'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8',
    'text/html',
    'TEXT/HTML ; level=1, */* ; q=0.1',
    'text/*, application/json;q=0.5',
  ])
    assert.equal(prefersHtml(accept), true, accept)
})

test('programs prefer JSON, or accept anything', () => {
  for (const accept of [
    undefined,
    '',
    '*/*',
    'application/json',
    'application/json, text/plain, */*',
    'application/json, text/html',
    'text/html;q=0.5, application/json',
    'text/html;q=0',
    'text/htmlx',
  ])
    assert.equal(prefersHtml(accept), false, String(accept))
})
