import assert from 'node:assert/strict'
import { test } from 'node:test'
import { marketDescriptions } from './market-descriptions.ts'
import {
  Category,
  Chat,
  Collection,
  Event,
  EventCreator,
  FeeSchedule,
  ImageOptimization,
  Market,
  Series,
  Tag,
  Template,
} from './markets.ts'

test('every description belongs to an existing field', () => {
  const records = [Market, Event, Series, Collection, Category, Tag, Chat, EventCreator, Template]
  const fields = new Set([...records, ImageOptimization, FeeSchedule].flatMap((one) => Object.keys(one.properties)))
  assert.deepEqual(
    Object.keys(marketDescriptions).filter((name) => !fields.has(name)),
    [],
  )
})
