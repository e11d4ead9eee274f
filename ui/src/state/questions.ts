import { fieldsOf, textField } from './calls';

/** A question as the model asks it. */
export interface Question {
  question: string;
  header: string;
  isMulti: boolean;
  options: { label: string; description: string; preview: string | null }[];
}

/** What the user has chosen for one question. */
export interface Choice {
  labels: string[];
  /** Own words, beside or instead of the options. */
  other: string;
}

/** The questions of a call. */
export function questionsOf(parameters: unknown): Question[] {
  const { questions } = fieldsOf(parameters);
  return (Array.isArray(questions) ? questions : []).map((question) => {
    const { options, multiSelect } = fieldsOf(question);
    return {
      question: textField(question, 'question') ?? '',
      header: textField(question, 'header') ?? '',
      isMulti: multiSelect === true,
      options: (Array.isArray(options) ? options : []).map((option) => ({
        label: textField(option, 'label') ?? '',
        description: textField(option, 'description') ?? '',
        preview: textField(option, 'preview'),
      })),
    };
  });
}

/** What is submitted: answers by the text of their question; what is not answered is left out. */
export function answerOf(questions: Question[], choices: Choice[]): Record<string, unknown> {
  const answers: Record<string, string> = {};
  const annotations: Record<string, { preview: string }> = {};
  for (const [index, question] of questions.entries()) {
    const text = answerText(question, choices[index]);
    if (text !== '') {
      answers[question.question] = text;
      const preview = previewOf(question, choices[index]);
      if (preview !== null) {
        annotations[question.question] = { preview };
      }
    }
  }
  return Object.keys(annotations).length > 0 ? { answers, annotations } : { answers };
}

/** Whether at least one question has an answer; the others may stay open. */
export function isAnswered(questions: Question[], choices: Choice[]): boolean {
  return questions.some((question, index) => answerText(question, choices[index]) !== '');
}

/** What the chosen option would look like. */
export function previewOf(question: Question, choice: Choice | undefined): string | null {
  const chosen = question.options.filter(({ label }) => choice?.labels.includes(label));
  return chosen.find(({ preview }) => preview !== null)?.preview ?? null;
}

function answerText(question: Question, choice: Choice | undefined): string {
  const other = choice?.other.trim() ?? '';
  const labels = question.options.map(({ label }) => label).filter((label) => choice?.labels.includes(label));
  const chosen = question.isMulti || other === '' ? labels : [];
  return [...chosen, other].filter((text) => text !== '').join(', ');
}
