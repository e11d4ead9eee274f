import { describe, expect, it } from 'vitest';

import { answerOf, isAnswered, questionsOf } from './questions';

const questions = questionsOf({
  questions: [
    {
      question: 'Which one?',
      header: 'Which',
      options: [
        { label: 'A', description: 'first', preview: 'looks like a' },
        { label: 'B', description: 'second' },
      ],
    },
    { question: 'What?', header: 'What', multiSelect: true, options: [{ label: 'X' }, { label: 'Y' }] },
  ],
});

const none = { labels: [], other: '' };

describe('an answer', () => {
  it.each([
    ['one option with its preview', [{ labels: ['A'], other: '' }, none], { 'Which one?': 'A' }],
    ['own words instead of an option', [{ labels: ['A'], other: ' mine ' }, none], { 'Which one?': 'mine' }],
    ['several in the order of the options', [none, { labels: ['Y', 'X'], other: '' }], { 'What?': 'X, Y' }],
    ['own words besides', [none, { labels: ['X'], other: 'Z' }], { 'What?': 'X, Z' }],
    ['nothing', [none, none], {}],
  ])('is %s', (_, choices, answers) => {
    expect(answerOf(questions, choices)).toMatchObject({ answers });
    expect(isAnswered(questions, choices)).toBe(Object.keys(answers).length > 0);
  });

  it('carries the preview of what was chosen', () => {
    expect(answerOf(questions, [{ labels: ['A'], other: '' }])).toHaveProperty('annotations', {
      'Which one?': { preview: 'looks like a' },
    });
    expect(answerOf(questions, [{ labels: ['B'], other: '' }])).not.toHaveProperty('annotations');
  });

  it('questions that are none are no questions', () => {
    expect(questionsOf(null)).toEqual([]);
    expect(questionsOf({ questions: 'x' })).toEqual([]);
  });
});
